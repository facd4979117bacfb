// A function with a stack of its own that runs until it yields, and goes on from there when it is resumed. One at a
// time, on the thread that made them all.

#pragma once

#include <functional>
#include <memory>

struct emu_fiber_state;

class emu_fiber {
public:
    explicit emu_fiber(std::function<void()> body); // not run before the first resume; must never return
    ~emu_fiber();

    void resume();       // until it yields
    static void yield(); // called within a fiber: back to whoever resumed it

private:
    std::unique_ptr<emu_fiber_state> state;
};
