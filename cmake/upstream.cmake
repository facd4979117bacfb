# h2o_add_upstream(TREE [PART...]): adds a llama.cpp tree as static, position-independent libraries (target `llama`).
# PART: what it shall define beyond them, of COMMON, TOOLS and so on; nothing is built that no target of ours asks for.
# The patched tree and the stock tree of the parity tests both come through here, so their flags are the same.

if (NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if (NOT MSVC)
    # an assertion may leave C as an exception (src/native/addon/assertion.h)
    add_compile_options($<$<COMPILE_LANGUAGE:C>:-fexceptions>)
endif()
set(BUILD_SHARED_LIBS OFF CACHE BOOL "" FORCE)

find_program(H2O_CCACHE ccache)
if (H2O_CCACHE)
    foreach (language C CXX CUDA)
        if (NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
            set(CMAKE_${language}_COMPILER_LAUNCHER ${H2O_CCACHE})
        endif()
    endforeach()
endif()

macro(h2o_add_upstream TREE)
    if (NOT EXISTS "${TREE}/CMakeLists.txt")
        message(FATAL_ERROR "${TREE} is not there: run `npm run vendor` (for the stock tree: `npm run vendor -- --stock`).")
    endif()
    foreach (part COMMON TESTS TOOLS EXAMPLES SERVER APP UI MTMD)
        set(LLAMA_BUILD_${part} OFF CACHE BOOL "" FORCE)
    endforeach()
    foreach (part ${ARGN})
        set(LLAMA_BUILD_${part} ON CACHE BOOL "" FORCE)
    endforeach()
    set(LLAMA_OPENSSL OFF CACHE BOOL "") # nothing here downloads models
    set(GGML_CCACHE OFF CACHE BOOL "" FORCE) # the launcher above does it
    add_subdirectory(${TREE} ${CMAKE_BINARY_DIR}/llama.cpp EXCLUDE_FROM_ALL)
endmacro()
