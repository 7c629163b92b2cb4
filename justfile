# Aliases only; everything with logic is `cargo xtask`.

default:
    @cargo xtask help

demo:
    cargo xtask demo

test *steps:
    cargo xtask test {{steps}}

tidy:
    cargo xtask tidy

bench *size:
    cargo xtask bench {{size}}
