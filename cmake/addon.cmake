# h2o_llama.node, from src/native/addon. cmake-js hands over the Node-API headers (CMAKE_JS_INC); a plain
# `cmake -B build` finds the same packages in node_modules. Nothing is downloaded.

if (NOT CMAKE_JS_INC)
    set(CMAKE_JS_INC
        ${CMAKE_CURRENT_SOURCE_DIR}/node_modules/node-api-headers/include
        ${CMAKE_CURRENT_SOURCE_DIR}/node_modules/node-addon-api)
endif()

include(cmake/common.cmake)

file(GLOB H2O_ADDON_SOURCES CONFIGURE_DEPENDS src/native/addon/*.cpp src/native/addon/*/*.cpp)
add_library(h2o_llama MODULE ${H2O_ADDON_SOURCES} ${CMAKE_JS_SRC})
set_target_properties(h2o_llama PROPERTIES PREFIX "" SUFFIX ".node" CXX_VISIBILITY_PRESET hidden)

target_compile_features     (h2o_llama PRIVATE cxx_std_17)
target_compile_options      (h2o_llama PRIVATE ${H2O_WARNINGS})
target_compile_definitions  (h2o_llama PRIVATE NAPI_VERSION=9 NODE_GYP_MODULE_NAME=h2o_llama BUILDING_NODE_EXTENSION
    NODE_ADDON_API_CPP_EXCEPTIONS_ALL        # any exception becomes a JavaScript error
    NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS) # in a worker thread that is being terminated
target_include_directories  (h2o_llama PRIVATE src/native/addon)
target_include_directories  (h2o_llama SYSTEM PRIVATE ${CMAKE_JS_INC})
target_link_libraries       (h2o_llama PRIVATE h2o_common llama ${CMAKE_JS_LIB})

if (H2O_PORTABLE)
    set_target_properties(h2o_llama PROPERTIES LIBRARY_OUTPUT_DIRECTORY $<1:${CMAKE_BINARY_DIR}/bin>)
elseif (CMAKE_SYSTEM_NAME STREQUAL "Linux")
    # another llama.cpp in the same process must not see ours
    target_link_options(h2o_llama PRIVATE -Wl,--exclude-libs,ALL)
endif()
if (CMAKE_SYSTEM_NAME STREQUAL "Linux")
    # Node's executable has functions of the standard library, too, and Node 22's are built without exceptions: a pattern that
    # std::regex refuses would end the process
    target_link_options(h2o_llama PRIVATE -Wl,-Bsymbolic)
endif()
if (APPLE)
    target_link_options(h2o_llama PRIVATE -undefined dynamic_lookup)
elseif (MSVC AND CMAKE_JS_NODELIB_DEF AND CMAKE_JS_NODELIB_TARGET)
    execute_process(COMMAND ${CMAKE_AR} /def:${CMAKE_JS_NODELIB_DEF} /out:${CMAKE_JS_NODELIB_TARGET}
                            ${CMAKE_STATIC_LINKER_FLAGS})
endif()
