//! Random streams keyed by (seed, stage, index), so that draws do not depend on the number of threads.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// The random generator of this crate.
pub type Stream = ChaCha8Rng;

/// The random stream of block or point `index` in `stage`.
///
/// The seed and the name of the stage make the key of a ChaCha generator, which has 2^64 independent streams per key.
pub fn stream(seed: u64, stage: &'static str, index: u64) -> Stream {
    let mut key = [0u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    for (i, byte) in stage.bytes().enumerate() {
        key[8 + i % 24] = key[8 + i % 24].wrapping_mul(31).wrapping_add(byte);
    }
    let mut rng = ChaCha8Rng::from_seed(key);
    rng.set_stream(index);
    rng
}

/// Draws a uniform number in [0, 1) with 53 random bits.
pub fn uniform(rng: &mut Stream) -> f64 {
    use rand_chacha::rand_core::Rng;
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Draws a standard normal number.
pub fn normal(rng: &mut Stream) -> f64 {
    use rand_distr::Distribution;
    rand_distr::StandardNormal.sample(rng)
}
