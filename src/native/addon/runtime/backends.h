// ggml's backends. A native build has them within; a portable one has a library for every kind of processor beside the
// addon and takes the best that this processor can run.

#pragma once

namespace addon {

void load_backends();

} // namespace addon
