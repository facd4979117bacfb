#include "h2o.h"

const char * h2o_reason_name(h2o_reason reason) {
    switch (reason) {
        case H2O_REASON_NONE:                      return "none";
        case H2O_REASON_OFF:                       return "off";
        case H2O_REASON_ONE_CHUNK:                 return "one-chunk";
        case H2O_REASON_BATCH_TOO_SMALL:           return "batch-too-small";
        case H2O_REASON_UNSUPPORTED_ARCHITECTURE:  return "unsupported-architecture";
        case H2O_REASON_UNSUPPORTED_MEMORY:        return "unsupported-memory";
        case H2O_REASON_UNSUPPORTED_ATTENTION:     return "unsupported-attention";
        case H2O_REASON_UNSUPPORTED_CONTEXT:       return "unsupported-context";
        case H2O_REASON_UNSUPPORTED_DEVICE:        return "unsupported-device";
        case H2O_REASON_MULTI_SEQUENCE:            return "multi-sequence";
        case H2O_REASON_EMBEDDING_INPUT:           return "embedding-input";
        case H2O_REASON_NON_CAUSAL:                return "non-causal";
        case H2O_REASON_POSITIONS_NOT_CONSECUTIVE: return "positions-not-consecutive";
        case H2O_REASON_KV_NOT_CONTIGUOUS:         return "kv-not-contiguous";
        case H2O_REASON_COUNT:                     break;
    }
    return "unknown";
}

const char * h2o_schedule_name(h2o_schedule schedule) {
    return schedule == H2O_SCHEDULE_TWO_PASS ? "two-pass" : "single-pass";
}

const char * h2o_path_name(h2o_path path) {
    return path == H2O_PATH_SPARSE ? "h2o" : "dense";
}
