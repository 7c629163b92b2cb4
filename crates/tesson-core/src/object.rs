//! Objects that a program puts into a configuration and that no file can hold, such as a custom deserializer.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A value of any type in a configuration. Copies share it; two are equal if they share the same one.
#[derive(Clone)]
pub struct Object {
    inside: Arc<dyn Any + Send + Sync>,
    name: Arc<str>,
}

impl Object {
    /// Wraps a value; `name` is its name in messages.
    pub fn new<T: Any + Send + Sync>(value: T, name: &str) -> Object {
        Object { inside: Arc::new(value), name: name.into() }
    }

    /// The value, if it is of this type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.inside.downcast_ref()
    }

    /// Its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Object) -> bool {
        Arc::ptr_eq(&self.inside, &other.inside)
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_equal_and_look_alikes_are_not() {
        let object = Object::new(7u8, "seven");
        assert_eq!((object.get::<u8>(), object.get::<u16>()), (Some(&7), None));
        assert_eq!(object.clone(), object);
        assert_ne!(Object::new(7u8, "seven"), object);
    }
}
