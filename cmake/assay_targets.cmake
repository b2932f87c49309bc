# Headers parsed once: one set for libraries, one with GoogleTest for tests. They only save time (a source at -O0: 1.3 s
# without, 0.4 s with). GCC takes a precompiled header only into sources compiled with the same -fPIC or -fPIE.
function(assay_precompile name header)
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    add_library(${name} OBJECT "${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp")
    target_compile_features(${name} PRIVATE cxx_std_20)
    target_link_libraries(${name} PRIVATE ${ARGN} fmt::fmt nlohmann_json::nlohmann_json assay_build_flags)
    target_precompile_headers(${name} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/${header}")
    if(name STREQUAL assay_precompiled)
      set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
  endif()
endfunction()

function(assay_reuse_precompiled target from)
  if(TARGET ${from})
    target_precompile_headers(${target} REUSE_FROM ${from})
    target_compile_options(${target} PRIVATE -Wno-error=invalid-pch)
  endif()
endfunction()

# One library = one folder = assay::<name>. Warnings and sanitisers are ours alone (assay_build_flags is not exported).
function(assay_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  add_library(assay_${name} STATIC ${arg_SOURCES})
  add_library(assay::${name} ALIAS assay_${name})
  target_include_directories(assay_${name} PUBLIC "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  target_compile_features(assay_${name} PUBLIC cxx_std_20)
  target_link_libraries(assay_${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE} assay_build_flags)
  set_target_properties(assay_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                                 VISIBILITY_INLINES_HIDDEN ON EXPORT_NAME ${name})
  assay_reuse_precompiled(assay_${name} assay_precompiled)
endfunction()

# Tests of a module: one executable assay_<name>_test, each GoogleTest case a CTest, labelled (default: unit).
# Sanitisers run what needs no third-party runtime: other tests are not built for them, but where a part is (SANITIZED).
function(assay_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SANITIZED" "" "SOURCES;DEPS;LABELS;PROPERTIES")
  if(NOT ASSAY_DEVELOPER)
    return()
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(ASSAY_SANITIZE AND "runtime" IN_LIST arg_LABELS AND NOT arg_SANITIZED)
    return()
  endif()
  add_executable(assay_${name}_test ${arg_SOURCES})
  target_link_libraries(assay_${name}_test PRIVATE ${arg_DEPS} assay_build_flags GTest::gmock GTest::gmock_main)
  target_compile_definitions(assay_${name}_test PRIVATE ASSAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                             ASSAY_BINARY_DIR="${PROJECT_BINARY_DIR}")
  assay_reuse_precompiled(assay_${name}_test assay_precompiled_test)
  if(CMAKE_CXX_CLANG_TIDY)
    # The whole list takes three times as long for a test as for a source, nearly all of it in gmock's headers.
    set_target_properties(assay_${name}_test PROPERTIES CXX_CLANG_TIDY
      "${CMAKE_CXX_CLANG_TIDY};--checks=-*,readability-identifier-naming,bugprone-use-after-move,bugprone-unused-raii")
  endif()
  gtest_discover_tests(assay_${name}_test TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 300
                       PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 900 ${arg_PROPERTIES})
endfunction()

# An engine plug-in: lib/assay/engines/assay_engine_<name>.so, exporting its one entry point.
function(assay_add_engine name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PRIVATE;INCLUDES")
  add_library(assay_engine_${name} MODULE ${arg_SOURCES})
  target_compile_features(assay_engine_${name} PRIVATE cxx_std_20)
  target_include_directories(assay_engine_${name} PRIVATE "${PROJECT_SOURCE_DIR}/include")
  target_include_directories(assay_engine_${name} SYSTEM PRIVATE ${arg_INCLUDES})
  target_link_libraries(assay_engine_${name} PRIVATE ${arg_PRIVATE} assay_build_flags ${CMAKE_DL_LIBS})
  set_target_properties(assay_engine_${name} PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/assay/engines")
  install(TARGETS assay_engine_${name} LIBRARY DESTINATION lib/assay/engines)
endfunction()
