//! Four numbers at once: the same arithmetic on four neighbourhoods side by side.

use std::array::from_fn;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// How many numbers.
pub const WIDTH: usize = 4;

/// Four numbers; plain loops over them become vector instructions.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Lanes(pub [f64; WIDTH]);

/// Four zeros.
pub const ZERO: Lanes = Lanes([0.0; WIDTH]);

impl Lanes {
    /// The same number four times.
    #[inline(always)]
    pub fn splat(value: f64) -> Self {
        Lanes([value; WIDTH])
    }

    /// Square roots.
    #[inline(always)]
    pub fn sqrt(self) -> Self {
        Lanes(from_fn(|l| self.0[l].sqrt()))
    }

    /// Absolute values.
    #[inline(always)]
    pub fn abs(self) -> Self {
        Lanes(from_fn(|l| self.0[l].abs()))
    }

    /// `yes` where this is greater than `other`, else `no`.
    #[inline(always)]
    pub fn greater(self, other: Self, yes: Self, no: Self) -> Self {
        Lanes(from_fn(|l| if self.0[l] > other.0[l] { yes.0[l] } else { no.0[l] }))
    }

    /// The length of (self, other), without the guards of `hypot`.
    #[inline(always)]
    pub fn norm(self, other: Self) -> Self {
        (self * self + other * other).sqrt()
    }
}

/// Scalar products of two small vectors of lanes.
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
                Lanes(from_fn(|l| self.0[l] $symbol other.0[l]))
            }
        }
    )*};
}

lane_by_lane!(Add add +, Sub sub -, Mul mul *, Div div /);

impl Neg for Lanes {
    type Output = Lanes;

    #[inline(always)]
    fn neg(self) -> Lanes {
        Lanes(from_fn(|l| -self.0[l]))
    }
}

impl AddAssign for Lanes {
    #[inline(always)]
    fn add_assign(&mut self, other: Lanes) {
        *self = *self + other;
    }
}
