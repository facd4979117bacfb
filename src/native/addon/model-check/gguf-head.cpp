#include "gguf-head.h"

#include <ggml.h>
#include <gguf.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

#ifdef _WIN32
#define fseek64 _fseeki64
#define ftell64 _ftelli64
#else
#define fseek64 fseeko
#define ftell64 ftello
#endif

namespace addon {

double gguf_tensor_shape::n_bytes() const {
    if (type < 0 || type >= GGML_TYPE_COUNT || ggml_blck_size((ggml_type) type) == 0) {
        return 0;
    }
    double size = (double) ggml_type_size((ggml_type) type) / ggml_blck_size((ggml_type) type);
    for (const uint64_t n : ne) {
        size *= (double) n;
    }
    return size;
}

static size_t type_size(int32_t type) {
    switch (type) {
        case GGUF_TYPE_UINT8:  case GGUF_TYPE_INT8:  case GGUF_TYPE_BOOL:    return 1;
        case GGUF_TYPE_UINT16: case GGUF_TYPE_INT16:                         return 2;
        case GGUF_TYPE_UINT32: case GGUF_TYPE_INT32: case GGUF_TYPE_FLOAT32: return 4;
        case GGUF_TYPE_UINT64: case GGUF_TYPE_INT64: case GGUF_TYPE_FLOAT64: return 8;
        default:                                                             return 0;
    }
}

bool gguf_value::is_string() const {
    return type == GGUF_TYPE_STRING;
}

template <typename T>
static double number_at(const std::string & bytes, size_t i) {
    T value;
    memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return (double) value;
}

double gguf_value::number(size_t i) const {
    const size_t size = type_size(type);
    if (size == 0 || (i + 1) * size > bytes.size()) {
        return NAN;
    }
    switch (type) {
        case GGUF_TYPE_BOOL:
        case GGUF_TYPE_UINT8:   return number_at<uint8_t> (bytes, i);
        case GGUF_TYPE_INT8:    return number_at<int8_t>  (bytes, i);
        case GGUF_TYPE_UINT16:  return number_at<uint16_t>(bytes, i);
        case GGUF_TYPE_INT16:   return number_at<int16_t> (bytes, i);
        case GGUF_TYPE_UINT32:  return number_at<uint32_t>(bytes, i);
        case GGUF_TYPE_INT32:   return number_at<int32_t> (bytes, i);
        case GGUF_TYPE_UINT64:  return number_at<uint64_t>(bytes, i);
        case GGUF_TYPE_INT64:   return number_at<int64_t> (bytes, i);
        case GGUF_TYPE_FLOAT32: return number_at<float>   (bytes, i);
        default:                return number_at<double>  (bytes, i);
    }
}

std::string_view gguf_value::text(size_t i) const {
    if (!is_string() || i >= ends.size()) {
        return {};
    }
    const size_t begin = i == 0 ? 0 : ends[i - 1];
    const auto   whole = std::string_view(bytes).substr(begin, ends[i] - begin);
    return whole.substr(0, whole.find('\0')); // llama.cpp takes strings by their first byte
}

template <typename M>
static auto find_in(const M & map, std::string_view key) -> const typename M::mapped_type * {
    const auto it = map.find(key);
    return it == map.end() ? nullptr : &it->second;
}

const gguf_value        * gguf_head::find       (std::string_view key)  const { return find_in(values,  key);  }
const gguf_tensor_shape * gguf_head::find_tensor(std::string_view name) const { return find_in(tensors, name); }

namespace {

// throws bad_file at the first thing that does not fit
struct bad_file {};

class reader {
public:
    explicit reader(FILE * file) : file(file), buffer(1 << 18) {
        fseek64(file, 0, SEEK_END);
        const int64_t size = (int64_t) ftell64(file);
        fseek64(file, 0, SEEK_SET);
        n_bytes = size < 0 ? 0 : (uint64_t) size;
    }

    uint64_t size() const { return n_bytes; }
    uint64_t tell() const { return n_read - (end - at); }
    uint64_t left() const { return n_bytes - std::min(n_bytes, tell()); }

    void read(void * dst, uint64_t n) {
        for (char * out = (char *) dst; n > 0; ) {
            const uint64_t part = std::min<uint64_t>(n, available());
            memcpy(out, buffer.data() + at, part);
            at  += part;
            out += part;
            n   -= part;
        }
    }

    template <typename T>
    T next() {
        T value;
        if (end - at >= sizeof(T)) {
            memcpy(&value, buffer.data() + at, sizeof(T));
            at += sizeof(T);
        } else {
            read(&value, sizeof(T));
        }
        return value;
    }

    void append(std::string & bytes, uint64_t n) {
        if (n > left()) {
            throw bad_file();
        }
        const size_t begin = bytes.size();
        bytes.resize(begin + n);
        read(bytes.data() + begin, n);
    }

    void skip(uint64_t n) {
        if (n <= end - at) {
            at += n;
            return;
        }
        if (n > left()) {
            throw bad_file();
        }
        while (n > 0) {
            const uint64_t part = std::min<uint64_t>(n, available());
            at += part;
            n  -= part;
        }
    }

    std::string string() {
        std::string text;
        append(text, next<uint64_t>());
        return text;
    }

private:
    // bytes in the buffer, at least one
    size_t available() {
        if (at == end) {
            at  = 0;
            end = fread(buffer.data(), 1, buffer.size(), file);
            n_read += end;
            if (end == 0) {
                throw bad_file();
            }
        }
        return end - at;
    }

    FILE *            file;
    std::vector<char> buffer;
    size_t            at      = 0;
    size_t            end     = 0;
    uint64_t          n_read  = 0;
    uint64_t          n_bytes = 0;
};

// no rule looks into merges and scores, and few into tokens; all are as long as the vocabulary
bool is_kept(const std::string & key, bool with_tokens) {
    return key == "tokenizer.ggml.tokens" ? with_tokens
                                          : key != "tokenizer.ggml.merges" && key != "tokenizer.ggml.scores";
}

gguf_value read_value(reader & in, bool keep) {
    gguf_value value;
    value.type = in.next<int32_t>();
    if (value.type == GGUF_TYPE_ARRAY) {
        value.is_array = true;
        value.type     = in.next<int32_t>();
        value.n        = in.next<uint64_t>();
    }

    const uint64_t size = value.is_string() ? sizeof(uint64_t) : type_size(value.type);
    if (size == 0 || value.n > in.left() / size) {
        throw bad_file();
    }
    if (!value.is_string()) {
        keep ? in.append(value.bytes, value.n * size) : in.skip(value.n * size);
        return value;
    }

    value.ends.reserve(keep ? value.n : 0);
    for (uint64_t i = 0; i < value.n; ++i) {
        const uint64_t length = in.next<uint64_t>();
        if (keep) {
            in.append(value.bytes, length);
            value.ends.push_back(value.bytes.size());
        } else {
            in.skip(length);
        }
    }
    return value;
}

gguf_tensor_shape read_shape(reader & in) {
    gguf_tensor_shape shape;
    const uint32_t n_dims = in.next<uint32_t>();
    if (n_dims > GGML_MAX_DIMS) {
        throw bad_file();
    }
    for (uint32_t i = 0; i < n_dims; ++i) {
        shape.ne[i] = in.next<uint64_t>();
    }
    shape.type   = in.next<int32_t>();
    shape.offset = in.next<uint64_t>();
    return shape;
}

gguf_head read_head(reader & in, bool with_tokens) {
    gguf_head head;
    head.n_bytes = in.size();

    char magic[4];
    in.read(magic, sizeof(magic));
    const uint32_t version = in.next<uint32_t>();
    if (memcmp(magic, GGUF_MAGIC, sizeof(magic)) != 0 || version < 2 || version > GGUF_VERSION) {
        throw bad_file();
    }

    const uint64_t n_tensors = in.next<uint64_t>();
    const uint64_t n_values  = in.next<uint64_t>();

    for (uint64_t i = 0; i < n_values; ++i) {
        std::string key = in.string();
        gguf_value value = read_value(in, is_kept(key, with_tokens));
        head.values.emplace(std::move(key), std::move(value));
    }
    for (uint64_t i = 0; i < n_tensors; ++i) {
        std::string name = in.string();
        head.tensors.emplace(std::move(name), read_shape(in));
    }

    const gguf_value * alignment = head.find(GGUF_KEY_GENERAL_ALIGNMENT);
    const double       n         = alignment ? alignment->number() : GGUF_DEFAULT_ALIGNMENT;

    const uint64_t step = n >= 1 && n <= UINT32_MAX ? (uint64_t) n : GGUF_DEFAULT_ALIGNMENT;
    head.data_offset   = (in.tell() + step - 1) / step * step;
    head.can_be_mapped = head.data_offset % 32 == 0;

    return head;
}

} // namespace

std::optional<gguf_head> gguf_head_read(const std::string & path, bool with_tokens) {
    const std::unique_ptr<FILE, int (*)(FILE *)> file(ggml_fopen(path.c_str(), "rb"), fclose);
    if (!file) {
        return std::nullopt;
    }
    try {
        reader in(file.get());
        return read_head(in, with_tokens);
    } catch (const bad_file &) {
        return std::nullopt;
    }
}

} // namespace addon
