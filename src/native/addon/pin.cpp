#include "pin.h"

#ifdef _WIN32

#include <windows.h>

namespace addon {

void pin_library() {
    HMODULE module = nullptr;
    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
        reinterpret_cast<LPCWSTR>(&pin_library), &module);
}

} // namespace addon

#else

#include <dlfcn.h>

namespace addon {

void pin_library() {
    Dl_info info;
    if (dladdr(reinterpret_cast<void *>(&pin_library), &info) && info.dli_fname) {
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    }
}

} // namespace addon

#endif
