// What the limits of a memory cgroup leave, in made-up trees of both versions.

#include "runtime/memory-room.h"
#include "suite.h"
#include "testing.h"

#include <cmath>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;

static fs::path root;

static void write(const std::string & path, const std::string & text) {
    const fs::path file = root / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
}

static addon::memory_room room_of(const std::string & self) {
    write("self", self);
    return addon::cgroup_room((root / "fs").string(), (root / "self").string());
}

static void test_trees() {
    root = fs::temp_directory_path() / ("h2o-memory-room-" + std::to_string(std::random_device()()));

    write("fs/memory.stat", "anon 10\nfile 900\n"); // the root of version 2 has no limit
    write("fs/a/memory.max", "1000\n");
    write("fs/a/memory.stat", "anon 300\nfile 700\n");
    write("fs/a/b/memory.max", "max\n");
    write("fs/a/b/memory.stat", "anon 100\nfile 5\n");
    write("fs/a/full/memory.max", "50\n");
    write("fs/a/full/memory.stat", "anon 60\n");

    CHECK(room_of("0::/a/b\n").bytes == 700.0); // version 2: what a group above leaves, files not counted
    CHECK(room_of("0::/a/b\n").limit == "memory cgroup /a"); // version 2: the group that sets the limit
    CHECK(room_of("0::/a/full\n").bytes == 0.0); // version 2: nothing left is nothing, not less
    CHECK(std::isinf(room_of("0::/\n").bytes)); // version 2: no limit

    write("fs/memory/memory.limit_in_bytes", "5000\n");
    write("fs/memory/memory.stat", "cache 4000\nrss 1\ntotal_rss 2000\n");

    CHECK(room_of("3:cpu,cpuacct:/x\n4:memory:/docker/1a\n0::/\n").bytes == 3000.0); // version 1: the mount of a container
    CHECK(room_of("4:memory:/docker/1a\n0::/a\n").bytes == 700.0); // both versions: the tighter one
    CHECK(std::isinf(room_of("3:cpu,memory2:/\nnot a line\n\n").bytes)); // no memory controller
    CHECK(std::isinf(addon::cgroup_room((root / "fs").string(), (root / "none").string()).bytes)); // no cgroups at all

    fs::remove_all(root);
}

static const suite cases("memory-room", [](suite & s) {
    s.add("made-up trees", test_trees);
});
