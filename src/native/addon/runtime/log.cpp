#include "log.h"

#include "llama.h"

#include <atomic>
#include <cstdio>

namespace addon {

static constexpr int    level_silent     = 5;
static constexpr size_t capture_max_size = 8192;

static std::atomic<int> level_min{level_silent};

static thread_local log_capture * capture_current = nullptr;
static thread_local int           level_last      = GGML_LOG_LEVEL_INFO;

static void log_line(ggml_log_level level, const char * text, void *) {
    // a continuation belongs to the line before it
    const int level_line = level == GGML_LOG_LEVEL_CONT ? level_last : (int) level;
    level_last = level_line;

    if (level_line == GGML_LOG_LEVEL_ERROR && capture_current) {
        capture_current->add(text);
    }

    if (level_line >= level_min.load(std::memory_order_relaxed)) {
        fputs(text, stderr);
    }
}

void log_install() {
    llama_log_set(log_line, nullptr);
}

void log_error(const std::string & line) {
    log_line(GGML_LOG_LEVEL_ERROR, line.c_str(), nullptr);
}

void log_set_level(int level) {
    level_min.store(level, std::memory_order_relaxed);
}

log_capture::log_capture() : outer(capture_current) {
    capture_current = this;
}

log_capture::~log_capture() {
    capture_current = outer;
}

bool log_capture::is_about_memory() const {
    for (const char * phrase : { "alloc", "out of memory", "memory slot", "failed to reserve" }) {
        if (lines.find(phrase) != std::string::npos) {
            return true;
        }
    }
    return false;
}

void log_capture::add(const char * text) {
    lines += text;
    if (lines.size() > capture_max_size) {
        lines.erase(0, lines.size() - capture_max_size);
    }
}

} // namespace addon
