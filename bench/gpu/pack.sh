#!/usr/bin/env bash
# Packs what bench/gpu/run.sh needs into one archive: our native sources, and of the patched and the unpatched llama.cpp
# the parts that a CUDA build of the libraries takes. For a machine without Node and without a network.
#
#   bench/gpu/pack.sh [OUT]     default: build-gpu/pack.tar.gz
set -euo pipefail
cd "$(dirname "$0")/../.."

out=${1:-build-gpu/pack.tar.gz}
tree=vendor/llama.cpp
[ -d "$tree/.git" ] || { echo "no $tree: run \`npm run vendor\` first" >&2; exit 1; }
mkdir -p "$(dirname "$out")"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
chmod 755 "$stage" # the archive's root; mktemp makes it private

sources=(CMakeLists.txt LICENSE cmake src/native/h2o src/native/limits bench/native bench/gpu test/native test/parity/stock)

# what our C++ tests take besides
sources+=(src/native/addon/runtime/memory-room.{cpp,h} examples/cpp model/recall-q8_0.gguf README.md)
git ls-files -co --exclude-standard "${sources[@]}" | tar -cf - -T - | tar -xf - -C "$stage"

# ggml's other backends are never configured
parts=(CMakeLists.txt LICENSE cmake ggml include licenses scripts src vendor)
tar -cf - --exclude='ggml-vulkan/*' --exclude='ggml-sycl/*' --exclude='ggml-opencl/*' --exclude='ggml-metal/*' \
    --exclude='ggml-cann/*' --exclude='ggml-hexagon/*' --exclude='ggml-webgpu/*' --exclude='ggml-openvino/*' \
    "${parts[@]/#/$tree/}" "$tree/h2o" "$tree/limits" "$tree/tests/test-backend-ops.cpp" | tar -xf - -C "$stage"

# the commit of the vendored tree is the pin without patches
git -C "$tree" archive --prefix="$tree-stock/" HEAD "${parts[@]}" | tar -xf - -C "$stage"
for backend in vulkan sycl opencl metal cann hexagon webgpu openvino; do
    rm -rf "$stage/$tree-stock/ggml/src/ggml-$backend"
done

# what run.sh knows a newer archive by, and what results are dated with
changes=
[ -z "$(git status --porcelain "${sources[@]}" patches)" ] || changes=" with changes"
echo "commit $(git rev-parse --short=12 HEAD)$changes, packed $(date -u +%Y-%m-%dT%H:%M:%SZ)" |
    tee "$stage/$tree/.pack" > "$stage/$tree-stock/.pack"

tar -czf "$out" -C "$stage" .
echo "$out: $(du -h "$out" | cut -f1)"
