#include "keep-loaded.h"

#ifdef _WIN32

#include <windows.h>

namespace addon {

void keep_library_loaded() {
    HMODULE module = nullptr;
    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
        reinterpret_cast<LPCWSTR>(&keep_library_loaded), &module);
}

} // namespace addon

#else

#include <dlfcn.h>

namespace addon {

void keep_library_loaded() {
    Dl_info info;
    if (dladdr(reinterpret_cast<void *>(&keep_library_loaded), &info) && info.dli_fname) {
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    }
}

} // namespace addon

#endif
