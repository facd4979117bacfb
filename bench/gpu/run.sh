#!/usr/bin/env bash
# On a machine with an NVIDIA GPU, nvcc with cuBLAS, CMake, ninja (or make) and python3: builds the patched and the stock
# tree, tests the kernels, and measures prefill against stock. Every stage can be run again, builds go on where they were.
#
#   bench/gpu/run.sh [--arch 90] [--out DIR] STAGE...        then the rest of the line goes to the last stage
#
#   unpack        the archive of bench/gpu/pack.sh, if vendor/llama.cpp is not there: --pack FILE
#   build         the patched tree
#   build-stock   the pin
#   test          test-backend-ops, our C++ tests, and a model on CPU and GPU
#   ops           each step of the method at the shapes of a layer of Qwen3-8B and 1.7B
#   sanitize      memcheck, racecheck and synccheck on small cases, where there is a compute-sanitizer
#   bench         see bench/gpu/compare.py --help
set -euo pipefail
cd "$(dirname "$0")/../.."

arch=90
out=build-gpu
pack=build-gpu/pack.tar.gz
while [[ ${1:-} == --* ]]; do
    case $1 in
        --arch) arch=$2 ;;
        --out)  out=$2 ;;
        --pack) pack=$2 ;;
        *)      sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 2 ;;
    esac
    shift 2
done

jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
generator=()
command -v ninja >/dev/null && generator=(-G Ninja)
bin=$out/patched/bin

unpack() {
    [ -d vendor/llama.cpp ] || tar -xzf "$pack"
}

configure() { # SOURCE BUILD
    [ -f "$2/CMakeCache.txt" ] || cmake -S "$1" -B "$2" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DGGML_CUDA=ON \
        -DCMAKE_CUDA_ARCHITECTURES="$arch" -DLLAMA_USE_PREBUILT_UI=OFF
}

build() {
    unpack
    configure bench/gpu "$out/patched"
    cmake --build "$out/patched" --parallel "$jobs"
    cmake --build "$out/patched" --parallel "$jobs" --target h2o-bench
}

build_stock() {
    unpack
    configure test/parity/stock "$out/stock"
    cmake --build "$out/stock" --parallel "$jobs" --target stock-bench
}

small_model() {
    [ -f "$out/small.gguf" ] || "$bin/random-model" "$out/small.gguf" f16 4 1024 8 2 128 2048 4096 0
}

run_tests() {
    local failed=0
    "$bin/test-backend-ops" test -b CUDA0 -o H2O              || failed=1
    "$bin/test-backend-ops" test -b CUDA0 -o GET_ROWS -p h2o= || failed=1
    ctest --test-dir "$out/patched" --output-on-failure       || failed=1
    small_model
    "$bin/device-check" "$out/small.gguf"                     || failed=1
    return $failed
}

sanitize() {
    if ! command -v compute-sanitizer >/dev/null; then
        echo "skipped: no compute-sanitizer"
        return
    fi
    local cases='h2o=(select|lookup).*n_mem=(37|40|4),|h2o=attn.*n_queries=(1|33|50),'
    for tool in memcheck racecheck synccheck; do
        compute-sanitizer --tool "$tool" --error-exitcode 1 "$bin/test-backend-ops" test -b CUDA0 -o H2O -p "$cases" |
            tail -n 15
    done
}

bench() {
    python3 bench/gpu/compare.py --patched "$out/patched" --stock "$out/stock" --work "$out" "$@"
}

[ $# -gt 0 ] || { sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 2; }
while [ $# -gt 0 ]; do
    stage=$1
    shift
    case $stage in
        unpack)      unpack ;;
        build)       build ;;
        build-stock) build_stock ;;
        test)        run_tests ;;
        ops)         "$bin/op-bench" 8 4 128; "$bin/op-bench" 8 2 128 ;;
        sanitize)    sanitize ;;
        bench)       bench "$@"; exit ;;
        *)           echo "unknown stage: $stage" >&2; exit 2 ;;
    esac
done
