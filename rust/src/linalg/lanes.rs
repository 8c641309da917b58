//! Eight numbers side by side, for the same arithmetic on eight neighborhoods at once.
//!
//! There are eight lanes even where a vector register holds four or two: chains of divisions and square roots overlap.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Range, Sub};

/// Number of lanes.
pub const WIDTH: usize = 8;

/// Neighborhoods with squared extents between these are handled side by side: products neither overflow nor vanish.
pub const SIZES: Range<f64> = 1e-100..1e100;

/// A neighborhood with an extent below this share of its largest is handled alone, with more care.
pub const FLAT: f64 = 1e-4;

/// Eight numbers. Plain loops over them compile to vector instructions.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Lanes(pub [f64; WIDTH]);

/// Makes an array entry by entry. Unlike `std::array::from_fn` it is always inlined, and so vectorized.
#[inline(always)]
pub fn fill<T: Copy, const N: usize>(zero: T, entry: impl Fn(usize) -> T) -> [T; N] {
    let mut array = [zero; N];
    for i in 0..N {
        array[i] = entry(i);
    }
    array
}

/// Zero in every lane.
pub const ZERO: Lanes = Lanes([0.0; WIDTH]);

impl Lanes {
    /// The same number in every lane.
    #[inline(always)]
    pub fn splat(value: f64) -> Self {
        Lanes([value; WIDTH])
    }

    /// Square roots, lane by lane.
    #[inline(always)]
    pub fn sqrt(self) -> Self {
        Lanes(fill(0.0, |l| self.0[l].sqrt()))
    }

    /// Absolute values, lane by lane.
    #[inline(always)]
    pub fn abs(self) -> Self {
        Lanes(fill(0.0, |l| self.0[l].abs()))
    }

    /// `yes` in the lanes where `self` is greater than `other`, else `no`.
    #[inline(always)]
    pub fn greater(self, other: Self, yes: Self, no: Self) -> Self {
        Lanes(fill(0.0, |l| if self.0[l] > other.0[l] { yes.0[l] } else { no.0[l] }))
    }

    /// The length of (self, other), lane by lane, without `hypot`'s guards against overflow.
    #[inline(always)]
    pub fn norm(self, other: Self) -> Self {
        (self * self + other * other).sqrt()
    }
}

/// The dot product of two small vectors, lane by lane.
#[inline(always)]
pub fn dot<const Q: usize>(a: &[Lanes; Q], b: &[Lanes; Q]) -> Lanes {
    let mut sum = a[0] * b[0];
    for axis in 1..Q {
        sum += a[axis] * b[axis];
    }
    sum
}

macro_rules! lane_by_lane {
    ($($operator:ident $method:ident $symbol:tt),*) => {$(
        impl $operator for Lanes {
            type Output = Lanes;

            #[inline(always)]
            fn $method(self, other: Lanes) -> Lanes {
                Lanes(fill(0.0, |l| self.0[l] $symbol other.0[l]))
            }
        }
    )*};
}

lane_by_lane!(Add add +, Sub sub -, Mul mul *, Div div /);

impl Neg for Lanes {
    type Output = Lanes;

    #[inline(always)]
    fn neg(self) -> Lanes {
        Lanes(fill(0.0, |l| -self.0[l]))
    }
}

impl AddAssign for Lanes {
    #[inline(always)]
    fn add_assign(&mut self, other: Lanes) {
        *self = *self + other;
    }
}
