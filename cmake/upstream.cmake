# h2o_add_upstream(TREE [PART...]): adds a llama.cpp tree as static, position-independent libraries (target `llama`), for
# this machine's processor. With H2O_PORTABLE: as shared libraries, with a CPU backend for every kind of processor, of which
# the best is loaded at run time.
# PART: what it shall define beyond them, of COMMON, TOOLS and so on; nothing is built that no target of ours asks for.
# The patched tree and the stock tree of the parity tests both come through here, so their flags are the same.

option(H2O_PORTABLE "CPU backends for every kind of processor, chosen at run time" OFF)

if (NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if (NOT MSVC)
    # an assertion may leave C as an exception (src/native/addon/runtime/assertion.h)
    add_compile_options($<$<COMPILE_LANGUAGE:C>:-fexceptions>)
endif()

set(BUILD_SHARED_LIBS ${H2O_PORTABLE} CACHE BOOL "" FORCE)
if (H2O_PORTABLE)
    set(GGML_NATIVE           OFF CACHE BOOL "" FORCE)
    set(GGML_BACKEND_DL       ON  CACHE BOOL "" FORCE)
    set(GGML_CPU_ALL_VARIANTS ON  CACHE BOOL "" FORCE)

    # the libraries lie in one folder, and each looks for the others there
    set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
    set(CMAKE_INSTALL_RPATH $<IF:$<PLATFORM_ID:Darwin>,@loader_path,$ORIGIN>)

    # a symbol of this kind is one for the whole process, and another llama.cpp in it has the same
    add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
endif()

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
    set(LLAMA_ALL_WARNINGS OFF CACHE BOOL "" FORCE) # upstream's to mend; our own files bring theirs (CMakeLists.txt)
    set(LLAMA_OPENSSL OFF CACHE BOOL "") # nothing here downloads models
    set(LLAMA_USE_PREBUILT_UI OFF CACHE BOOL "") # nor the server's page
    set(GGML_CCACHE OFF CACHE BOOL "" FORCE) # the launcher above does it
    add_subdirectory(${TREE} ${CMAKE_BINARY_DIR}/llama.cpp EXCLUDE_FROM_ALL)

    if (H2O_PORTABLE)
        # names of our own: a library of the same name that is loaded already would take the place of ours
        foreach (target llama ggml ggml-base)
            set_target_properties(${target} PROPERTIES OUTPUT_NAME h2o-${target})
            set_property(TARGET ${target} PROPERTY VERSION)
            set_property(TARGET ${target} PROPERTY SOVERSION)
        endforeach()
    endif()
endmacro()
