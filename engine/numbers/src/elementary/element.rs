//! The element types of packed numbers, and what the elementary functions need to know about them.

use std::fmt::Debug;
use std::num::Wrapping;
use std::ops::{Add, BitAnd, BitOr, BitXor, Not, Shl, Shr, Sub};

use crate::scalar::Scalar;

/// What packed numbers are: `f32` or `f64`.
pub trait Element: Format + Scalar<Mask = bool> + PartialOrd {}

impl Element for f32 {}
impl Element for f64 {}

/// A binary floating-point format with its constants and polynomials. It cannot be reached from outside
/// the crate, which seals [`Element`].
pub trait Format: Copy + 'static {
    /// The bits of a number, as an unsigned integer that wraps around.
    type Bits: Copy
        + Debug
        + PartialEq
        + Send
        + Sync
        + 'static
        + Add<Output = Self::Bits>
        + Sub<Output = Self::Bits>
        + BitAnd<Output = Self::Bits>
        + BitOr<Output = Self::Bits>
        + BitXor<Output = Self::Bits>
        + Not<Output = Self::Bits>
        + Shl<usize, Output = Self::Bits>
        + Shr<usize, Output = Self::Bits>;

    /// Integers as bits.
    const ZERO_BITS: Self::Bits;
    const ONE_BITS: Self::Bits;
    /// Bits of a number, of the fraction in it, and of the exponent's bias.
    const WIDTH: usize;
    const FRACTION: usize;
    const BIAS: Self::Bits;
    /// The smallest normal number.
    const MIN_POSITIVE: Self;
    /// 2^FRACTION. From here to its double, the numbers are the integers, counted by their low bits.
    const INTEGERS: Self;
    /// 1.5 · 2^FRACTION. Adding and then subtracting this rounds to an integer of either sign; in
    /// between, the integer is in the low bits.
    const ROUND: Self;
    /// Half of the exponent's bias as a number, and 2 to the minus that.
    const HALF_BIAS: Self;
    const DOWN: Self;
    /// √½.
    const ROOT_HALF: Self;
    /// Beyond ± this, eˣ is certainly infinite or 0.
    const EXP_LIMIT: f64;
    /// Up to this |x|, the reduction modulo π/2 is accurate.
    const CIRCLE_LIMIT: f64;
    /// ln 2 rounded, and the remainder.
    const LN_2: [Self; 2];
    /// π/2 rounded, the remainder rounded, and the remainder of that.
    const HALF_PI: [Self; 3];

    /// `(eˣ − 1 − x)/x²` for |x| ≤ ln 2 / 2.
    const EXP: &'static [Self];
    /// `(sinh √z/√z − 1)/z` for √z ≤ ln 2 / 2.
    const SINH: &'static [Self];
    /// `(cosh √z − 1)/z` for √z ≤ ln 2 / 2.
    const COSH: &'static [Self];
    /// `2 (artanh √z/√z − 1)/z` for √z ≤ (√2 − 1)/(√2 + 1).
    const LOG: &'static [Self];
    /// `(sin √z/√z − 1)/z` for √z ≤ π/4.
    const SIN: &'static [Self];
    /// `(cos √z − 1 + z/2)/z²` for √z ≤ π/4.
    const COS: &'static [Self];
    /// `(arctan √z/√z − 1)/z` for z ≤ 1.
    const ATAN: &'static [Self];
    /// `(arcsin √z/√z − 1)/z` for z ≤ ¼.
    const ASIN: &'static [Self];
    /// `erf √z/√z − 1` for z ≤ 1.
    const ERF: &'static [Self];
    /// `(a + 5.5) e^(a²/2) erfc(a/√2)` of `u = (a − 5.5)/(a + 5.5)`, a ≥ 0.
    const ERFC: &'static [Self];

    fn to_bits(self) -> Self::Bits;
    fn from_bits(bits: Self::Bits) -> Self;
    /// `self · b + c`, rounded once.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// The standard library's sine and cosine, for arguments beyond [`CIRCLE_LIMIT`](Self::CIRCLE_LIMIT).
    fn library_sin_cos(self) -> (Self, Self);
    /// The constants and polynomials in C, for [`prelude`](crate::trace::prelude).
    fn constants() -> String;
}

/// How tables are declared in OpenCL C and in C99.
const TABLES: &str = "#ifdef __OPENCL_VERSION__\n#define TABLE __constant\n#define IN_TABLE __constant\n\
    #else\n#define TABLE static const\n#define IN_TABLE\n#endif\n";

macro_rules! binary_format {
    ($t:ident, $bits:ident, $($constants:tt)*) => {
        impl Format for $t {
            type Bits = Wrapping<$bits>;

            const ZERO_BITS: Self::Bits = Wrapping(0);
            const ONE_BITS: Self::Bits = Wrapping(1);
            const WIDTH: usize = $bits::BITS as usize;
            const FRACTION: usize = $t::MANTISSA_DIGITS as usize - 1;
            const BIAS: Self::Bits = Wrapping($t::MAX_EXP as $bits - 1);
            const MIN_POSITIVE: Self = $t::MIN_POSITIVE;
            const INTEGERS: Self = 1.0 / $t::EPSILON;
            const ROUND: Self = 1.5 / $t::EPSILON;
            const HALF_BIAS: Self = ($t::MAX_EXP / 2 - 1) as $t;
            const DOWN: Self = $t::from_bits(($t::MAX_EXP as $bits / 2) << Self::FRACTION);
            const ROOT_HALF: Self = std::$t::consts::FRAC_1_SQRT_2;
            $($constants)*

            #[inline(always)]
            fn to_bits(self) -> Self::Bits {
                Wrapping($t::to_bits(self))
            }
            #[inline(always)]
            fn from_bits(bits: Self::Bits) -> Self {
                $t::from_bits(bits.0)
            }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                $t::mul_add(self, b, c)
            }
            fn library_sin_cos(self) -> (Self, Self) {
                $t::sin_cos(self)
            }
            fn constants() -> String {
                let mut c = String::from(TABLES);
                c += &format!("#define WIDTH {}\n#define FRACTION {}\n", Self::WIDTH, Self::FRACTION);
                c += &format!("#define BIAS {}\n", Self::BIAS);
                let mut define = |name: &str, value: f64| c += &format!("#define {name} (real){value:e}\n");
                define("MIN_POSITIVE", Self::MIN_POSITIVE.into());
                define("INTEGERS", Self::INTEGERS.into());
                define("ROUND", Self::ROUND.into());
                define("HALF_BIAS", Self::HALF_BIAS.into());
                define("DOWN", Self::DOWN.into());
                define("ROOT_HALF", Self::ROOT_HALF.into());
                define("EXP_LIMIT", Self::EXP_LIMIT);
                define("CIRCLE_LIMIT", Self::CIRCLE_LIMIT);
                for (name, parts) in [("LN_2", &Self::LN_2[..]), ("HALF_PI", &Self::HALF_PI)] {
                    for (i, &part) in parts.iter().enumerate() {
                        define(&format!("{name}_{i}"), part.into());
                    }
                }
                let polynomials = [
                    ("EXP", Self::EXP),
                    ("SINH", Self::SINH),
                    ("COSH", Self::COSH),
                    ("LOG", Self::LOG),
                    ("SIN", Self::SIN),
                    ("COS", Self::COS),
                    ("ATAN", Self::ATAN),
                    ("ASIN", Self::ASIN),
                    ("ERF", Self::ERF),
                    ("ERFC", Self::ERFC),
                ];
                for (name, k) in polynomials {
                    let k: Vec<String> = k.iter().map(|&x| format!("(real){:e}", f64::from(x))).collect();
                    c += &format!("TABLE real {name}[] = {{{}}};\n", k.join(", "));
                }
                c
            }
        }
    };
}

binary_format! {
    f64, u64,
    const EXP_LIMIT: f64 = 800.0;
    const CIRCLE_LIMIT: f64 = 1073741824.0; // 2^30
    const LN_2: [f64; 2] = [std::f64::consts::LN_2, 2.3190468138462996e-17];
    const HALF_PI: [f64; 3] = [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591698e-33];
    const EXP: &'static [Self] = &[
        0.5,
        0.1666666666666667,
        0.04166666666666667,
        0.008333333333326136,
        0.0013888888888883748,
        0.00019841269874820627,
        2.480158732554774e-05,
        2.7557255400206422e-06,
        2.755727364311234e-07,
        2.5105217004720745e-08,
        2.0914686967466912e-09,
    ];
    const SINH: &'static [Self] = &[
        0.16666666666666669,
        0.008333333333330062,
        0.00019841269863053618,
        2.7557268459997064e-06,
        2.510038549551032e-08,
    ];
    const COSH: &'static [Self] = &[
        0.5,
        0.04166666666666668,
        0.0013888888888879073,
        2.4801587336442236e-05,
        2.75572632790885e-07,
        2.0918137737642736e-09,
    ];
    const LOG: &'static [Self] = &[
        0.666666666666667,
        0.3999999999989938,
        0.28571428626031065,
        0.2222221112572281,
        0.18182889786191042,
        0.15331699633543858,
        0.14616721179861816,
    ];
    const SIN: &'static [Self] = &[
        -0.16666666666666666,
        0.008333333333333331,
        -0.00019841269841264567,
        2.7557319218954762e-06,
        -2.505210610025599e-08,
        1.6058510875319195e-10,
        -7.585486485235938e-13,
    ];
    const COS: &'static [Self] = &[
        0.041666666666666664,
        -0.0013888888888887241,
        2.480158729853226e-05,
        -2.7557317151858866e-07,
        2.0876121534608454e-09,
        -1.1380868171449914e-11,
    ];
    const ATAN: &'static [Self] = &[
        -0.3333333333333333,
        0.19999999999999554,
        -0.14285714285648404,
        0.11111111107234799,
        -0.09090908969557403,
        0.07692305354678655,
        -0.06666636435777692,
        0.05882074956371294,
        -0.05261265735709454,
        0.04752086773576656,
        -0.04308119655330471,
        0.03872640214042632,
        -0.033750132001619734,
        0.027567942297344678,
        -0.020238706986393514,
        0.012756172907694298,
        -0.006575683344151699,
        0.002622977891906089,
        -0.0007518472526973822,
        0.0001368724853148122,
        -1.1832505417555692e-05,
    ];
    const ASIN: &'static [Self] = &[
        0.16666666666666669,
        0.07499999999998433,
        0.04464285714635543,
        0.030381944138531247,
        0.02237217294214989,
        0.017352392720869973,
        0.013971212973552933,
        0.011479177415184906,
        0.01032281435018578,
        0.005457506718640358,
        0.01740087944269402,
        -0.014851887071247204,
        0.028757851367421566,
    ];
    const ERF: &'static [Self] = &[
        0.1283791670955126,
        -0.3761263890318375,
        0.11283791670954879,
        -0.026866170645076792,
        0.0052239776248180145,
        -0.000854832698083379,
        0.0001205533111164271,
        -1.4925595266831182e-05,
        1.6461000484121368e-06,
        -1.6350312701054695e-07,
        1.4659775274047436e-08,
        -1.1372848856791674e-09,
        5.957176147748911e-11,
    ];
    const ERFC: &'static [Self] = &[
        1.5475392685528135,
        -1.370366841148676,
        1.0711929781249916,
        -0.7340981305872684,
        0.43574486571578813,
        -0.21940617991646091,
        0.09019516163274897,
        -0.027847021146402025,
        0.004885965313633444,
        0.0005392081284856465,
        -0.0006490450493037757,
        0.00014282906457477597,
        3.2638793968617247e-05,
        -2.4235810430339968e-05,
        8.962494796599457e-07,
        2.9638993654140253e-06,
        -5.426462187002412e-07,
        -3.508985723347845e-07,
        1.0955130294146421e-07,
        4.3641819251323536e-08,
        -1.808426590607684e-08,
        -5.239928183525225e-09,
        2.444770045257184e-09,
        4.1492575195721073e-10,
        -1.9827595356275625e-10,
    ];
}

binary_format! {
    f32, u32,
    const EXP_LIMIT: f64 = 128.0;
    const CIRCLE_LIMIT: f64 = 65536.0; // 2^16
    const LN_2: [f32; 2] = [std::f32::consts::LN_2, -1.904_654_2e-9];
    const HALF_PI: [f32; 3] = [std::f32::consts::FRAC_PI_2, -4.371_139e-8, -1.715_124_5e-15];
    const EXP: &'static [Self] = &[
        0.5,
        0.16666667,
        0.041666467,
        0.0083333105,
        0.001393365,
        0.00019890991,
    ];
    const SINH: &'static [Self] = &[
        0.16666667,
        0.0083333105,
        0.00019890991,
    ];
    const COSH: &'static [Self] = &[
        0.5,
        0.041666467,
        0.001393365,
    ];
    const LOG: &'static [Self] = &[
        0.66666687,
        0.39988777,
        0.29580158,
    ];
    const SIN: &'static [Self] = &[
        -0.16666667,
        0.008333332,
        -0.00019840039,
        2.7243782e-06,
    ];
    const COS: &'static [Self] = &[
        0.041666664,
        -0.0013888279,
        2.4542871e-05,
    ];
    const ATAN: &'static [Self] = &[
        -0.33333334,
        0.1999995,
        -0.14284004,
        0.11088262,
        -0.08931827,
        0.070319146,
        -0.048960514,
        0.026305001,
        -0.009144629,
        0.0014886919,
    ];
    const ASIN: &'static [Self] = &[
        0.16666666,
        0.07500094,
        0.044599403,
        0.031100662,
        0.017149238,
        0.033690847,
    ];
    const ERF: &'static [Self] = &[
        0.12837917,
        -0.37612626,
        0.11283594,
        -0.026854211,
        0.0051890872,
        -0.00080168643,
        7.875875e-05,
    ];
    const ERFC: &'static [Self] = &[
        1.5475392,
        -1.3703668,
        1.071193,
        -0.7340996,
        0.43574485,
        -0.21939427,
        0.09019536,
        -0.027888725,
        0.0048854137,
        0.0006114303,
        -0.0006485156,
        8.0236554e-05,
        3.293851e-05,
    ];
}
