# assay_add_engine(NAME SOURCES file… [PRIVATE library…] [INCLUDES folder…]): the plug-in assay_engine_NAME.so.
#
# In assay's own tree the plug-in is built in the folder of assay's engines. Other projects get this function with
# find_package(assay): it builds the plug-in in <build folder>/engines/NAME together with a copy of the engine.json beside
# the CMakeLists.txt, and assay finds it with ASSAY_ENGINE_PATH=<build folder>/engines. `cmake --install` installs both in
# lib/assay/engines/NAME of the prefix.
function(assay_add_engine name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PRIVATE;INCLUDES")
  set(target assay_engine_${name})
  set(sources ${arg_SOURCES})
  if(COMMAND assay_batch)
    assay_batch(sources ${target} ${arg_SOURCES})
  endif()
  add_library(${target} MODULE ${sources})
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_include_directories(${target} SYSTEM PRIVATE ${arg_INCLUDES})
  target_link_libraries(${target} PRIVATE ${arg_PRIVATE} assay::engine_support ${CMAKE_DL_LIBS})
  set_target_properties(${target} PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(TARGET assay_build_flags)
    target_link_libraries(${target} PRIVATE assay_build_flags)
    if(CMAKE_BUILD_TYPE STREQUAL "Release")
      target_compile_options(${target} PRIVATE -O2)  # runs while something is measured
    endif()
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/assay/engines")
    install(TARGETS ${target} LIBRARY DESTINATION lib/assay/engines)
    set_property(GLOBAL APPEND PROPERTY ASSAY_ENGINES ${name})
    assay_needed_by_tests(${target} runtime)
  else()
    set(folder "${CMAKE_BINARY_DIR}/engines/${name}")
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${folder}")
    configure_file(engine.json "${folder}/engine.json" COPYONLY)
    install(TARGETS ${target} LIBRARY DESTINATION lib/assay/engines/${name})
    install(FILES engine.json DESTINATION lib/assay/engines/${name})
  endif()
endfunction()
