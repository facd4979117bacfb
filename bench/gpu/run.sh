#!/usr/bin/env bash
# On a machine with an NVIDIA GPU, nvcc with cuBLAS, CMake, ninja (or make) and python3: builds the patched and the stock
# tree, tests the kernels, and measures prefill against stock. Every stage can be run again, builds go on where they were.
#
#   bench/gpu/run.sh [OPTION VALUE]... STAGE...     what follows `bench` goes to compare.py
#
#   unpack        of the archive of bench/gpu/pack.sh, the trees of llama.cpp that are not there; the builds do it too
#   build         the patched tree
#   build-stock   the pin
#   test          test-backend-ops, our C++ tests, and a model on CPU and GPU
#   sanitize      memcheck, racecheck and synccheck on small cases
#   ops           each step of the method at the shapes of a layer of Qwen3-8B and 1.7B
#   bench         see bench/gpu/compare.py --help
#   dry-run       needs no GPU: the launches of prefills, on a runtime without a device
#
#   --arch 90         chips to compile for, a list as CMake takes it
#   --out FOLDER      builds, models, results and logs; default build-gpu
#   --pack FILE       the archive; default build-gpu/pack.tar.gz
#   --copy FOLDER     logs and results go there; default $OUT
#   --cmake-arg ARG   for the configuration of both trees; can be given more than once
#
# A stage that fails does not keep the next ones from running, but a build does. Status 1: one failed.
set -euo pipefail
cd "$(dirname "$0")/../.."

usage() {
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

arch=90
out=build-gpu
pack=build-gpu/pack.tar.gz
copy=${OUT:-}
cmake_args=()
while [[ ${1:-} == --* ]]; do
    [ $# -gt 1 ] || usage
    case $1 in
        --arch)      arch=$2 ;;
        --out)       out=$2 ;;
        --pack)      pack=$2 ;;
        --copy)      copy=$2 ;;
        --cmake-arg) cmake_args+=("$2") ;;
        *)           usage ;;
    esac
    shift 2
done
[ $# -gt 0 ] || usage

bin=$out/patched/bin
logs=${copy:-$out/logs}
mkdir -p "$out" "$logs"

# A tree is there as a whole or not at all, and is renewed from a newer archive. One without .pack is the checkout's own.
unpack() { # NAME
    local tree=vendor/$1 new=vendor/.tmp-pack
    if [ -d "$tree" ] && { [ ! -f "$tree/.pack" ] || [ ! -f "$pack" ]; }; then
        return
    fi
    [ -f "$pack" ] || { echo "neither $tree nor $pack is there" >&2; return 1; }
    if cmp -s "$tree/.pack" <(tar -xzOf "$pack" "./$tree/.pack"); then
        return
    fi
    rm -rf "$new"
    mkdir -p "$new"
    tar -xzmf "$pack" -C "$new" "./$tree" # -m: all newer than what was built of the last archive
    [ ! -d "$tree" ] || mv "$tree" "$new/old"
    mv "$new/$tree" "$tree"
    rm -rf "$new"
}

configure() { # SOURCE BUILD
    local generator=()
    command -v ninja >/dev/null && generator=(-G Ninja)
    cmake -S "$1" -B "$2" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DGGML_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES="$arch" \
        -DLLAMA_USE_PREBUILT_UI=OFF -DCMAKE_PROJECT_INCLUDE="$PWD/bench/gpu/cuda-toolkit.cmake" "${cmake_args[@]}"
}

compile() { # BUILD TARGET...
    cmake --build "$1" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" --target "${@:2}"
}

need_gpu() {
    nvidia-smi -L | grep '^GPU' || { echo "nvidia-smi finds no GPU" >&2; return 1; }
}

# The CPU that the device is compared with: with AMX, keys may be rounded as tensor cores do, but by 8 bits no cases are drawn
# that F16 could decide.
export H2O_AMX=1 H2O_INT8=0 H2O_INT16=0

# test-backend-ops ends well, too, where it skips the device or finds no case
cases_pass() { # COMMAND...
    "$@" 2>&1 | tee "$out/cases.txt" || return 1
    grep -qE '^ *([1-9][0-9]*)/\1 tests passed' "$out/cases.txt" || { echo "FAILED: no case was run" >&2; return 1; }
}

# all of them run on the GPU, too
our_cases_pass() { # COMMAND...
    cases_pass "$@" || return 1
    ! grep -q 'not supported' "$out/cases.txt" || { echo "FAILED: there are cases without a kernel" >&2; return 1; }
}

small_model() { # NAME TYPE LAYERS HEAD_SIZE
    [ -f "$out/$1.gguf" ] || "$bin/random-model" "$out/$1.gguf" "$2" "$3" 1024 8 2 "$4" 2048 4096 0
}

find_sanitizer() {
    local nvcc place
    nvcc=$(readlink -f "$(command -v "${CUDACXX:-nvcc}" || echo /usr/local/cuda/bin/nvcc)")
    for place in compute-sanitizer "${nvcc%/*}/compute-sanitizer" "${nvcc%/*}/../compute-sanitizer/compute-sanitizer" \
            /usr/local/cuda/bin/compute-sanitizer; do
        command -v "$place" && return
    done
    echo "no compute-sanitizer, neither on the PATH nor beside nvcc" >&2
    return 1
}

stage_unpack() {
    unpack llama.cpp
    unpack llama.cpp-stock
}

stage_build() {
    unpack llama.cpp
    configure bench/gpu "$out/patched"
    compile "$out/patched" all h2o-bench
}

stage_build-stock() {
    unpack llama.cpp-stock
    configure test/parity/stock "$out/stock"
    compile "$out/stock" stock-bench
}

stage_test() {
    local failed=0
    need_gpu
    our_cases_pass "$bin/test-backend-ops" test -b CUDA0 -p h2o=                || failed=1
    cases_pass     "$bin/test-backend-ops" test -b CUDA0 -o GET_ROWS            || failed=1
    ctest --test-dir "$out/patched" --output-on-failure --no-tests=error -LE kernels || failed=1
    # F32, as cuBLAS rounds what it multiplies with weights of F16; two layers, as random ones enlarge every difference
    { small_model exact f32 2 128 && "$bin/device-check" "$out/exact.gguf" 256 11; } || failed=1
    return $failed
}

# The tensor-core kernels at head size 128, with votes split over blocks (n_queries=512), and the odd cases of each kernel.
small_cases='h2o=(select|lookup).*n_mem=(37|40|4),'
small_cases+='|h2o=attn.*n_queries=(1|33|50|512),'
small_cases+='|h2o=attn,type_k=(f16|q8_0),.*,d_k=128,.*n_queries=64,'
small_cases+='|h2o=(pages|query),type=(f16|q8_0),d=64,'
small_cases+='|h2o=order,d=(8|64),'
small_cases+='|h2o=estimate,d_k=(64|72|128),.*n_cand=(128|700|1000|2500),'

stage_sanitize() {
    local sanitizer tool failed=0
    need_gpu
    sanitizer=$(find_sanitizer)
    for tool in memcheck racecheck synccheck; do
        echo "== $tool"
        our_cases_pass "$sanitizer" --tool "$tool" --error-exitcode 1 \
            "$bin/test-backend-ops" test -b CUDA0 -p "$small_cases" || { echo "FAILED: $tool" >&2; failed=1; }
    done
    return $failed
}

stage_ops() {
    local failed=0
    need_gpu
    "$bin/op-bench" 8 4 128 || failed=1
    "$bin/op-bench" 8 2 128 || failed=1
    return $failed
}

stage_dry-run() {
    if ldd "$bin/h2o-bench" | grep -q 'libcuda\.so'; then
        echo "virtual memory management asks the driver: build with --out build-dry --cmake-arg -DGGML_CUDA_NO_VMM=ON" >&2
        return 1
    fi
    compile "$out/patched" dry-run-cuda
    small_model small f16 4 128
    small_model odd   f16 4 112
    python3 bench/gpu/dry_run.py --bin "$bin" --runtime "$bin/libdry-run-cuda.so" --model "$out/small.gguf" --odd-model "$out/odd.gguf"
}

stage_bench() {
    need_gpu
    python3 bench/gpu/compare.py --patched "$out/patched" --stock "$out/stock" --work "$out" ${copy:+--copy "$copy"} "$@"
}

for stage in "$@"; do
    declare -F "stage_$stage" >/dev/null || { echo "unknown stage: $stage" >&2; exit 2; }
    [ "$stage" != bench ] || break
done

failed=()
while [ $# -gt 0 ]; do
    stage=$1
    shift
    args=()
    if [ "$stage" = bench ]; then
        args=("$@")
        set --
    fi

    # in no condition: bash would ignore -e inside of the stage
    set +e
    (set -e; "stage_$stage" "${args[@]}") 2>&1 | tee -a "$logs/${stage%-stock}.log"
    status=${PIPESTATUS[0]}
    set -e

    if [ "$status" -ne 0 ]; then
        failed+=("$stage")
        [[ $stage != build* && $stage != unpack ]] || break # nothing of what was built before is to be tested
    fi
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}" >&2
    exit 1
fi
