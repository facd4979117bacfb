#include "backends.h"

#include "library.h"

#include "ggml-backend.h"

namespace addon {

void load_backends() {
#ifdef GGML_BACKEND_DL
    // nowhere else: ggml would look beside the program and in the current folder
    ggml_backend_load_all_from_path(library_folder().c_str());
#endif
}

} // namespace addon
