# What `cmake --install` installs for other programs and engines: the headers and the package `assay` (assayConfig.cmake).
# Programs and plug-ins are installed where they are defined; runtimes are never installed with them.
include(CMakePackageConfigHelpers)
add_library(assay_plugin INTERFACE)
add_library(assay::plugin ALIAS assay_plugin)
target_compile_features(assay_plugin INTERFACE cxx_std_20)
target_include_directories(assay_plugin INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                                                  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
set_target_properties(assay_plugin PROPERTIES EXPORT_NAME plugin)

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/assay" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS assay_plugin EXPORT assayTargets)
install(EXPORT assayTargets NAMESPACE assay:: FILE assayTargets.cmake DESTINATION lib/cmake/assay)
# A plug-in of another ABI is refused when it is loaded; the package's version is that of the program.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/assayConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_SOURCE_DIR}/cmake/assayConfig.cmake" "${PROJECT_SOURCE_DIR}/cmake/assay_add_engine.cmake"
              "${PROJECT_BINARY_DIR}/assayConfigVersion.cmake" DESTINATION lib/cmake/assay)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/THIRD_PARTY.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
