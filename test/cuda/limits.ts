// What the kernels may take of a multiprocessor. Registers: 65536 of them, so 256 a thread is two blocks of 128
// threads, which launch_bounds asks for; a choice is one block of 1024 threads. Shared memory is what ptxas knows of:
// in bytes;
// tiles of products are dynamic, and asserted in the sources.

/** Below sm_80 the tensor-core kernels are empty. Nothing may spill, anywhere. */
export const MMA_FROM = 80

export const LIMITS: Record<string, { registers: number; shared: number }> = {
  h2o_attn_mma: { registers: 255, shared: 0 },
  h2o_votes_mma: { registers: 255, shared: 0 },
  h2o_attn_plain: { registers: 128, shared: 48 * 1024 },
  h2o_votes_plain: { registers: 128, shared: 48 * 1024 },
  h2o_votes_sum: { registers: 64, shared: 0 },
  h2o_pages: { registers: 96, shared: 0 },
  h2o_landmarks: { registers: 64, shared: 1280 },
  h2o_query_asking: { registers: 64, shared: 512 },
  h2o_query_wants: { registers: 128, shared: 0 },
  h2o_query_page_most: { registers: 128, shared: 0 },
  h2o_query_page_shift: { registers: 64, shared: 0 },
  h2o_query_page_scores: { registers: 128, shared: 0 },
  h2o_query_key_most: { registers: 128, shared: 0 },
  h2o_query_key_shift: { registers: 64, shared: 0 },
  h2o_query_key_scores: { registers: 128, shared: 0 },
  h2o_query_choose_landmarks: { registers: 64, shared: 128 },
  h2o_query_choose_pages: { registers: 64, shared: 128 },
  h2o_query_choose_set: { registers: 64, shared: 128 },
  h2o_query_take_all: { registers: 64, shared: 0 },
  h2o_select: { registers: 64, shared: 128 },
  h2o_lookup: { registers: 64, shared: 0 },
}
