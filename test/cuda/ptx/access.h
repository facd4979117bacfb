// Where the lanes of a warp read or write: addresses that are there, aligned and without a race.

#pragma once

#include "warp.h"

namespace ptx {

enum class intent { reads, writes, updates }; // an update is atomic: no race with others

class access {
public:
    // n bytes at each active lane's address
    access(warp & w, const instr & in, const operand & address, int n, intent what, space where);

    char * at(int lane) const { return data[lane]; } // of active lanes

private:
    char * data[N_LANES];
};

} // namespace ptx
