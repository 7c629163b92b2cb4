//! Arrow's C data interface: minibatches for other libraries, which share the memory of their arrays.
//!
//! Python (`arrow.py`) decides which columns there are and makes a tree of [`Node`]s; here the tree becomes the
//! structures of the interface and their callbacks, which are plain functions: they may be called while a Python
//! exception is pending.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// An array and its type: one level of a column.
struct Node {
    format: CString,
    name: CString,
    /// Arrow's encoding of the type's extension, or nothing.
    metadata: Option<Vec<u8>>,
    length: i64,
    /// Where each buffer begins: the first one, of bits that say what is missing, is always absent.
    buffers: Vec<usize>,
    /// The arrays that own the buffers.
    _owners: Vec<Py<PyAny>>,
    children: Vec<Arc<Node>>,
}

/// A level as Python describes it: format, name, metadata, length, buffers and children.
type Level<'py> = (String, String, Option<Vec<u8>>, i64, Vec<Bound<'py, PyAny>>, Vec<Bound<'py, PyAny>>);

impl Node {
    fn of(level: &Bound<'_, PyAny>) -> PyResult<Node> {
        let (format, name, metadata, length, arrays, children) = level.extract::<Level<'_>>()?;
        let text = |text: String| CString::new(text).map_err(|e| PyValueError::new_err(e.to_string()));
        let mut buffers = vec![0];
        for array in &arrays {
            let buffer = PyUntypedBuffer::get(array)?;
            if !buffer.is_c_contiguous() {
                return Err(PyValueError::new_err("found an array with gaps, expected contiguous ones"));
            }
            buffers.push(buffer.buf_ptr() as usize);
        }
        let children = children.iter().map(|child| Node::of(child).map(Arc::new)).collect::<PyResult<_>>()?;
        let owners = arrays.into_iter().map(Bound::unbind).collect();
        Ok(Node {
            format: text(format)?,
            name: text(name)?,
            metadata,
            length,
            buffers,
            _owners: owners,
            children,
        })
    }
}

/// `struct ArrowSchema` of the interface.
#[repr(C)]
struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

/// `struct ArrowArray` of the interface.
#[repr(C)]
struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

/// `struct ArrowArrayStream` of the interface.
#[repr(C)]
struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

/// The memory that a schema or an array owns beside the node, until it is released.
struct Owned<T> {
    _node: Arc<Node>,
    _children: Vec<Box<T>>,
    child_pointers: Vec<*mut T>,
    buffers: Vec<*const c_void>,
}

impl<T> Owned<T> {
    fn new(node: &Arc<Node>, child: impl Fn(&Arc<Node>) -> T) -> Box<Owned<T>> {
        let mut children: Vec<Box<T>> = node.children.iter().map(|node| Box::new(child(node))).collect();
        let child_pointers = children.iter_mut().map(|child| &raw mut **child).collect();
        let buffers = node.buffers.iter().map(|&at| at as *const c_void).collect();
        Box::new(Owned { _node: node.clone(), _children: children, child_pointers, buffers })
    }
}

impl ArrowSchema {
    fn of(node: &Arc<Node>) -> ArrowSchema {
        let mut owned = Owned::new(node, ArrowSchema::of);
        let metadata = node.metadata.as_ref().map_or(ptr::null(), |bytes| bytes.as_ptr().cast());
        ArrowSchema {
            format: node.format.as_ptr(),
            name: node.name.as_ptr(),
            metadata,
            flags: 0,
            n_children: node.children.len() as i64,
            children: owned.child_pointers.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_schema),
            private_data: Box::into_raw(owned).cast(),
        }
    }
}

impl ArrowArray {
    fn of(node: &Arc<Node>) -> ArrowArray {
        let mut owned = Owned::new(node, ArrowArray::of);
        ArrowArray {
            length: node.length,
            null_count: 0,
            offset: 0,
            n_buffers: owned.buffers.len() as i64,
            n_children: node.children.len() as i64,
            buffers: owned.buffers.as_mut_ptr(),
            children: owned.child_pointers.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_array),
            private_data: Box::into_raw(owned).cast(),
        }
    }
}

/// Children that a consumer has taken over have no `release` any more; the others are released when they are dropped.
macro_rules! released_when_dropped {
    ($($type:ident),+) => {
        $(impl Drop for $type {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: the structure is whole and was not released, or it would have no callback.
                    unsafe { release(self) };
                }
            }
        }

        // SAFETY: a structure owns what its pointers name and may be released on any thread: nodes are reference-counted, and
        // pyo3 drops references to Python objects safely without the GIL.
        unsafe impl Send for $type {})+
    };
}

released_when_dropped!(ArrowSchema, ArrowArray, ArrowArrayStream);

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the interface calls this once, with a structure that `ArrowSchema::of` has made, wherever it lies now.
    unsafe {
        (*schema).release = None;
        drop(Box::from_raw((*schema).private_data.cast::<Owned<ArrowSchema>>()));
    }
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: as above, of `ArrowArray::of`.
    unsafe {
        (*array).release = None;
        drop(Box::from_raw((*array).private_data.cast::<Owned<ArrowArray>>()));
    }
}

/// A stream of one array, before or after that array is given.
struct Rest {
    node: Arc<Node>,
    is_given: bool,
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: `stream` is one of `arrow_stream`'s, not released; `out` has room and holds nothing.
    unsafe { out.write(ArrowSchema::of(&(*(*stream).private_data.cast::<Rest>()).node)) };
    0
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: as above; the interface forbids concurrent calls on one stream.
    let rest = unsafe { &mut *(*stream).private_data.cast::<Rest>() };
    let mut array = ArrowArray::of(&rest.node);
    if std::mem::replace(&mut rest.is_given, true) {
        // The end is an array that has been released.
        if let Some(release) = array.release {
            // SAFETY: it was made above.
            unsafe { release(&raw mut array) };
        }
    }
    // SAFETY: `out` has room and holds nothing.
    unsafe { out.write(array) };
    0
}

unsafe extern "C" fn get_last_error(_: *mut ArrowArrayStream) -> *const c_char {
    ptr::null()
}

unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: the interface calls this once, with a stream of `arrow_stream`.
    unsafe {
        (*stream).release = None;
        drop(Box::from_raw((*stream).private_data.cast::<Rest>()));
    }
}

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// The capsules of `__arrow_c_array__` for a tree of levels.
#[pyfunction]
pub(crate) fn arrow_array<'py>(
    level: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let (py, node) = (level.py(), Arc::new(Node::of(level)?));
    let schema = PyCapsule::new_with_value(py, ArrowSchema::of(&node), SCHEMA)?;
    Ok((schema, PyCapsule::new_with_value(py, ArrowArray::of(&node), ARRAY)?))
}

/// The capsule of `__arrow_c_stream__`: a stream of that one array.
#[pyfunction]
pub(crate) fn arrow_stream<'py>(level: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCapsule>> {
    let rest = Box::new(Rest { node: Arc::new(Node::of(level)?), is_given: false });
    let stream = ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(rest).cast(),
    };
    PyCapsule::new_with_value(level.py(), stream, STREAM)
}
