// llama.cpp's log: filtered by level to stderr, its error lines kept for the job that runs on the same thread.
//
// The log callback is one per process; levels are those of ggml (debug 1, info 2, warn 3, error 4), 5 is silence.

#pragma once

#include <string>

namespace addon {

// once per process, before anything else of llama.cpp
void log_install();

void log_set_level(int level);

// as llama.cpp logs an error; `line` ends with a newline
void log_error(const std::string & line);

// collects the error lines that this thread logs during its life, newest last, at most a few kilobytes
class log_capture {
public:
    log_capture();
    ~log_capture();

    log_capture(const log_capture &) = delete;
    log_capture & operator=(const log_capture &) = delete;

    void add(const char * text);

    const std::string & text() const { return lines; }

    // llama.cpp says why only in its log
    bool is_about_memory() const;

private:
    std::string   lines;
    log_capture * outer;
};

} // namespace addon
