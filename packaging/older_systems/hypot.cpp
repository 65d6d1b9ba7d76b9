// hypot() for systems with glibc 2.34: calls the version of the function that all versions of glibc have. The linker's
// option --wrap=hypot calls this function instead of hypot().
extern "C" double ddpprof_hypot_2_2_5(double x, double y) noexcept;
asm(".symver ddpprof_hypot_2_2_5, hypot@GLIBC_2.2.5");

// Returns sqrt(x² + y²) without overflow.
extern "C" double __wrap_hypot(double x, double y) noexcept { return ddpprof_hypot_2_2_5(x, y); }
