#include "library.h"

#ifdef _WIN32

#include <windows.h>

#include <filesystem>

namespace addon {

static HMODULE find_library(DWORD flags) {
    HMODULE module = nullptr;
    GetModuleHandleExW(flags | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, reinterpret_cast<LPCWSTR>(&keep_library_loaded), &module);
    return module;
}

void keep_library_loaded() {
    find_library(GET_MODULE_HANDLE_EX_FLAG_PIN);
}

std::string library_folder() {
    wchar_t path[32768];
    const DWORD n = GetModuleFileNameW(find_library(GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT), path, 32768);
    return std::filesystem::path(path, path + n).parent_path().u8string();
}

} // namespace addon

#else

#include <dlfcn.h>

namespace addon {

static std::string library_file() {
    Dl_info info;
    return dladdr(reinterpret_cast<void *>(&keep_library_loaded), &info) && info.dli_fname ? info.dli_fname : "";
}

void keep_library_loaded() {
    dlopen(library_file().c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

std::string library_folder() {
    const std::string file = library_file();
    return file.substr(0, file.find_last_of('/') + 1);
}

} // namespace addon

#endif
