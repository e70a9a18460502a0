//! How a message goes over the wire: its line ends, and the dots that would end it.
