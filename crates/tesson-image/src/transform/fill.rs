//! The fill of parts of images: a value for each channel.

use std::fmt;

use tesson_core::identity::List;

use super::fault::TransformFault;

/// The value of each channel, or of all.
#[derive(Clone, Debug, PartialEq)]
pub struct Fill(Box<[f32]>);

/// The form of an identity: the values.
impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        List(&self.0).fmt(f)
    }
}

impl Fill {
    /// One value is for all channels.
    ///
    /// # Errors
    /// No value.
    pub fn new(values: impl Into<Box<[f32]>>) -> Result<Fill, TransformFault> {
        let values = values.into();
        if values.is_empty() {
            let (name, found) = ("value", "none".into());
            let expected = "one number, or one of each channel";
            return Err(TransformFault::Parameter { name, found, expected });
        }
        Ok(Fill(values))
    }

    /// Checks the number of channels of an image for a transform.
    ///
    /// # Errors
    /// Another number than there are values, if there are several.
    pub(super) fn check(&self, transform: &'static str, channels: usize) -> Result<(), TransformFault> {
        match self.0.len() {
            expected if expected != 1 && expected != channels => {
                Err(TransformFault::Channels { transform, expected, found: channels })
            }
            _ => Ok(()),
        }
    }

    /// True if 8-bit images can hold the values.
    pub fn is_of_bytes(&self) -> bool {
        self.0.iter().all(|value| (0.0..=255.0).contains(value) && value.fract() == 0.0)
    }

    /// The value of a channel.
    pub(super) fn of(&self, channel: usize) -> f32 {
        self.0[channel % self.0.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_is_for_all_channels_and_several_are_for_as_many() {
        let [gray, colour] = [&[7.0][..], &[1.0, 2.0, 0.5]].map(|values| Fill::new(values).unwrap());
        assert!(gray.check("X", 3).is_ok() && colour.check("X", 3).is_ok() && colour.check("X", 1).is_err());
        assert_eq!(([gray.of(0), gray.of(2)], [colour.of(0), colour.of(2)]), ([7.0, 7.0], [1.0, 0.5]));
        assert!(gray.is_of_bytes() && !colour.is_of_bytes() && Fill::new([]).is_err());
    }
}
