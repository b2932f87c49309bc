# What find_package(assay) gives: to programs that measure assay::benchmark; to authors of engines assay::plugin (headers),
# assay::engine_support (what plug-ins around a runtime share) and assay_add_engine().
include(CMakeFindDependencyMacro)
find_dependency(fmt)
include("${CMAKE_CURRENT_LIST_DIR}/assayTargets.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/assay_add_engine.cmake")
