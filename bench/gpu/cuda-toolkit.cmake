# Included behind project() in both trees: what a CUDA toolkit may lack. cuBLAS then comes from the Python packages that
# PyTorch installs, and a toolkit without the driver's library builds without virtual memory management.
#
#   H2O_CUBLAS   a folder with include/cublas_v2.h and lib/libcublas.so*, if neither of them has it

include_guard(GLOBAL) # every project() below comes here too

find_package(CUDAToolkit REQUIRED)

if (NOT TARGET CUDA::cuda_driver)
    message(STATUS "no libcuda.so and no stub of it: GGML_CUDA_NO_VMM")
    set(GGML_CUDA_NO_VMM ON CACHE BOOL "")
endif()

file(WRITE ${CMAKE_BINARY_DIR}/cublas.cu "#include <cublas_v2.h>\n")
execute_process(
    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -E ${CMAKE_BINARY_DIR}/cublas.cu -o ${CMAKE_BINARY_DIR}/cublas.ii
    RESULT_VARIABLE nvcc_result ERROR_QUIET)
if (nvcc_result EQUAL 0 AND TARGET CUDA::cublas AND NOT H2O_CUBLAS)
    return()
endif()

if (NOT H2O_CUBLAS)
    execute_process(
        COMMAND python3 -c "import nvidia; print(';'.join(nvidia.__path__), end='')"
        OUTPUT_VARIABLE packages ERROR_QUIET)
    list(TRANSFORM packages APPEND "/*/include/cublas_v2.h")
    file(GLOB headers ${packages})
    if (headers)
        list(GET headers 0 header)
        cmake_path(GET header PARENT_PATH include)
        cmake_path(GET include PARENT_PATH root)
        set(H2O_CUBLAS ${root} CACHE PATH "")
    endif()
endif()

file(GLOB headers ${H2O_CUBLAS}/include/cublas*.h)
file(GLOB library_cublas   ${H2O_CUBLAS}/lib/libcublas.so*)
file(GLOB library_cublaslt ${H2O_CUBLAS}/lib/libcublasLt.so*)
if (NOT H2O_CUBLAS OR NOT headers OR NOT library_cublas OR NOT library_cublaslt)
    message(FATAL_ERROR "No cuBLAS: neither nvcc nor the nvidia packages of python3 have its headers and libraries. Name a folder \
with include/cublas_v2.h and lib/libcublas.so: bench/gpu/run.sh --cmake-arg -DH2O_CUBLAS=FOLDER")
endif()
message(STATUS "cuBLAS from ${H2O_CUBLAS}")

# alone: beside them may lie a runtime of another version than nvcc's
file(COPY ${headers} DESTINATION ${CMAKE_BINARY_DIR}/cublas)
include_directories(SYSTEM ${CMAKE_BINARY_DIR}/cublas)

list(GET library_cublas   0 library_cublas)
list(GET library_cublaslt 0 library_cublaslt)
set(CUDA_cublas_LIBRARY   ${library_cublas}   CACHE FILEPATH "" FORCE)
set(CUDA_cublasLt_LIBRARY ${library_cublaslt} CACHE FILEPATH "" FORCE)
set(CMAKE_BUILD_RPATH ${H2O_CUBLAS}/lib)
