// Rows that work-items compute together. ITEMS work-items compute a row: item c % ITEMS takes coordinate c,
// so that neighbours read neighbouring memory. A team has ROWS rows. It is a work-group, whose members meet
// at barriers, or a single work-item with one row. A sum over a row has eight lanes, with coordinate c in
// lane c % LANES; the lanes are combined pairwise as on the host. A sum along a line has SETS of such lanes,
// in blocks of BLOCK elements.

#define LANES 8
#define ZERO scalar_of(0.0)
#define ZEROS {ZERO}
#define TEAM (ROWS * ITEMS)

// A work-item's number in its team, its number in its row, and the number of its row in the team.
#define MEMBER ((int)(get_local_id(0) % TEAM))
#define ITEM (MEMBER % ITEMS)
#define PLACE (MEMBER / ITEMS)
// The first row of the team.
#define FIRST (get_global_id(0) / TEAM * ROWS)

// The number of lanes that a work-item computes, and the number of its lane l in the row.
#define OWN (LANES / ITEMS)
#define LANE(l) (ITEM + (l) * ITEMS)

// MEET is a barrier: after it, all members of a team see what each wrote before. Every member must reach it,
// also those whose row is beyond the last one. A team of a single work-item may LEAVE instead.
#if TEAM == 1
#define SHARED
#define TOGETHER
#define MEET
#define LEAVE(beyond) if (beyond) return
#else
#define SHARED __local
#define TOGETHER __attribute__((reqd_work_group_size(TEAM, 1, 1)))
#define MEET barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define LEAVE(beyond)
#endif

// A function that uses a work-item's number, as ITEM does, must be inlined into its kernel: otherwise PoCL
// keeps the number in one variable for all of its threads.
#define INLINE static inline __attribute__((always_inline))

// Collects the lanes of a row from its work-items. `team` is memory for ROWS times LANES numbers.
INLINE void gather(const scalar *own, SHARED scalar *team, scalar *lanes) {
    MEET;
    for (int l = 0; l < OWN; l++) team[PLACE * LANES + LANE(l)] = own[l];
    MEET;
    for (int l = 0; l < LANES; l++) lanes[l] = team[PLACE * LANES + l];
}

// The sum over the lanes of a row.
INLINE scalar sum_of(const scalar *own, SHARED scalar *team) {
    scalar l[LANES];
    gather(own, team, l);
    return add(add(add(l[0], l[4]), add(l[2], l[6])), add(add(l[1], l[5]), add(l[3], l[7])));
}

// Combines the terms of p from `begin` to `end`, of one block, into a work-item's own lanes, in the order of
// line_sum on the host.
#define IN_SETS(own, start, combine, begin, end, term) { \
    scalar sets[SETS][OWN]; \
    for (int set = 0; set < SETS; set++) \
        for (int i = 0; i < OWN; i++) sets[set][i] = start; \
    for (ulong first = begin; first < (end); first += SETS * LANES) \
        for (int set = 0; set < SETS; set++) \
            for (int i = 0; i < OWN; i++) { \
                const ulong p = first + set * LANES + LANE(i); \
                if (p < (end)) sets[set][i] = combine(sets[set][i], term); \
            } \
    for (int i = 0; i < OWN; i++) \
        own[i] = combine(combine(sets[0][i], sets[1][i]), combine(sets[2][i], sets[3][i])); \
}

// The sum of the terms of p below `width`, for rows that are `here`.
#define LINE_SUM(sum, width, here, team, term) { \
    sum = ZERO; \
    for (ulong block = 0; block < (width); block += BLOCK) { \
        const ulong end = block + BLOCK < (width) ? block + BLOCK : (width); \
        scalar own[OWN]; \
        IN_SETS(own, ZERO, add, block, (here) ? end : block, term) \
        sum = add(sum, sum_of(own, team)); \
    } \
}
