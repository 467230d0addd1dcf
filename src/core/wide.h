// WIDE marks a function that is compiled for wider vectors too; the loader chooses by the CPU. All versions give the
// same bits: sums keep the order of the source, and nothing is contracted (-ffp-contract=off). Such a function must not
// throw, and so not look at a Watch: GCC ends the program there.
#pragma once

#if !defined(DRBO_NARROW) && defined(__x86_64__) && defined(__ELF__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif
