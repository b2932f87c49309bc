# assay_git_commit(OUT FOLDER): sets OUT to the commit of a checkout, with "-dirty" if files that git knows have changes
# that are not committed; to nothing where there is no git or no checkout.
function(assay_git_commit out folder)
  set(commit "")
  find_package(Git QUIET)
  if(GIT_FOUND)
    # No tag is chosen, so that the result is always the hash.
    execute_process(COMMAND "${GIT_EXECUTABLE}" -C "${folder}" describe --always --dirty --exclude *
                    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  set(${out} "${commit}" PARENT_SCOPE)
endfunction()
