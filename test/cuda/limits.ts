// What the kernels may take. Registers: a multiprocessor has 65536, so 256 a thread is two blocks of 128 threads, 168 six of
// 64, and 80 three of 256, which launch_bounds asks for; h2o_select is one block of 1024 threads. Shared memory is what ptxas knows of, in bytes; tiles of
// products are dynamic, and asserted in the sources. Costs are those of op-bench's launches, with a little room: sectors of
// device memory over those of dense accesses, and cycles of shared memory over those without conflicts of banks. They are
// of the cache and the product that take most: 8 bits are read in words of 16.

/** Below sm_80 the tensor-core kernels are empty. Nothing may spill, anywhere. */
export const MMA_FROM = 80

export const LIMITS: Record<string, { registers: number; shared: number; sectors: number; banks: number }> = {
  h2o_attn_mma: { registers: 255, shared: 0, sectors: 2.9, banks: 1.05 },
  h2o_votes_mma: { registers: 255, shared: 0, sectors: 2.1, banks: 1.05 },
  h2o_attn_plain: { registers: 128, shared: 48 * 1024, sectors: 4.1, banks: 1.1 },
  h2o_votes_plain: { registers: 128, shared: 48 * 1024, sectors: 1.45, banks: 1.1 },
  h2o_votes_sum: { registers: 64, shared: 0, sectors: 1.05, banks: 1 },
  h2o_pages: { registers: 96, shared: 0, sectors: 1.25, banks: 1 },
  h2o_order_round: { registers: 64, shared: 128, sectors: 1.05, banks: 1 },
  h2o_order_split: { registers: 128, shared: 1024, sectors: 1.15, banks: 1.05 },
  h2o_query_scaled: { registers: 64, shared: 0, sectors: 1.05, banks: 1 },
  h2o_query_means: { registers: 64, shared: 0, sectors: 1.05, banks: 1 },
  h2o_query_halves: { registers: 64, shared: 0, sectors: 1.05, banks: 1 },
  h2o_query_sums: { registers: 255, shared: 0, sectors: 2.1, banks: 1.25 },
  h2o_query_shift: { registers: 64, shared: 1024, sectors: 2, banks: 1.05 },
  h2o_query_search: { registers: 168, shared: 0, sectors: 2.4, banks: 1.25 },
  h2o_query_choose: { registers: 80, shared: 1024, sectors: 1.3, banks: 1.05 },
  h2o_query_take_all: { registers: 64, shared: 0, sectors: 1, banks: 1 },
  h2o_estimate_left: { registers: 64, shared: 2304, sectors: 1.5, banks: 1.05 },
  h2o_estimate_halves: { registers: 64, shared: 0, sectors: 1.05, banks: 1 },
  h2o_estimate_plain: { registers: 128, shared: 48 * 1024, sectors: 2.1, banks: 1.1 },
  h2o_select: { registers: 64, shared: 1280, sectors: 1.15, banks: 1.05 },
  h2o_lookup: { registers: 64, shared: 0, sectors: 1.5, banks: 1 },
}
