"""Kernel names of two demanglers: one kernel in two spellings is one name, two kernels are two names."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from judge import names, totals  # noqa: E402
from parts import profiler  # noqa: E402


def passed(figures):
    return all(one.passed is not False for one in figures)


class Names(unittest.TestCase):
    # Spellings of one kernel: by the C++ runtime, by cu++filt and by CUPTI of different versions.
    EQUAL = [
        ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
         "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
         "void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctor_add<float>, "
         "std::array<char *, (unsigned long)3>>(int, at::native::CUDAFunctor_add<float>, std::array<char *, "
         "(unsigned long)3>)"),
        ("void (anonymous namespace)::fill<4u>(float*)", "<unnamed>::fill<4>(float *)"),
        ("void {anonymous}::fill(float*)", "void _GLOBAL__N__0a1b_4_a_cu_5c::fill(float*)"),
        ("void sum<true, false>(int)", "void sum<(bool)1, (bool)0>(int)"),
        ("f[abi:cxx11](int)", "f(int)"),
        ("void k<-1l, 2ull>()", "k<(long)-1, (unsigned long long)2>()"),
        ("void f<unsigned int>(unsigned int)", "void f< unsigned  int >( unsigned int )"),
    ]
    # Other kernels, whose names differ by a little.
    DIFFERENT = [("void k<4>(int)", "void k<8>(int)"), ("void k<Add>(int)", "void k<Mul>(int)"),
                 ("k4u(int)", "k4(int)"), ("void cutlass_80_4ul()", "void cutlass_80_4()"),
                 ("f<unsigned int>()", "f<int>()"), ("k<true>()", "k<false>()"),
                 ("f(float)", "f(double)"), ("k<1.5f>()", "k<1.5>()")]

    def test_one_kernel_in_two_spellings(self):
        for one, other in self.EQUAL:
            self.assertEqual(names.normalised(one), names.normalised(other))

    def test_two_kernels(self):
        for one, other in self.DIFFERENT:
            self.assertNotEqual(names.normalised(one), names.normalised(other))
            self.assertEqual(names.matched([names.normalised(one)], [names.normalised(other)]), [])

    def test_a_list_that_one_side_does_not_have(self):
        self.assertEqual(names.matched(["gemm<4>(int)"], ["gemm<4>"]), [("gemm<4>(int)", "gemm<4>")])
        self.assertEqual(names.matched(["gemm"], ["gemm<4>(int)"]), [("gemm", "gemm<4>(int)")])
        self.assertEqual(names.matched(["gemm<4>(int)", "gemm<8>(int)"], ["gemm"]), [], "not clear which")
        self.assertEqual(names.without_parameters("a::operator()"), "a::operator()")
        self.assertEqual(names.without_parameters("f<void(*)(int)>(g(*)(int),(anonymous)::h)"), "f<void(*)(int)>")

    def judged(self, ours, theirs):
        return profiler.judged([totals.compare(totals.totals(ours), totals.totals(theirs))])

    def test_the_profiler_s_names_may_have_no_lists(self):
        ours = [("_Z4gemmPf", 10), ("void add<4u>(float*)", 20)]
        figures = self.judged(ours, [("gemm", 10), ("add<(unsigned int)4>", 20)])
        self.assertTrue(passed(figures), figures)
        self.assertIn([2], [one.value for one in figures])

    def test_names_that_differ_are_in_the_figure_in_both_spellings(self):
        figures = self.judged([("void add<4u>(float*)", 20)] * 2, [("void add<(int)8>(float *)", 20)] * 2)
        self.assertIn(["void add<4u>(float*): 2, void add<(int)8>(float *): 2"], [one.value for one in figures])
        self.assertFalse(passed(figures))


if __name__ == "__main__":
    unittest.main()
