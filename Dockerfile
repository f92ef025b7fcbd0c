# The command with the lock service and TLS: `docker build --tag tenure .` compiles it;
# `docker build --target prebuilt --tag tenure .` packs the program that packaging/assemble left in
# target/package. docs/install.md has both.

ARG BASE=docker.io/library/debian:bookworm-slim
ARG RUST=docker.io/library/rust:1.95-bookworm

FROM ${BASE} AS base
# The number is that of the manifests for Kubernetes, where no name is looked up.
RUN useradd --system --uid 65532 --user-group --home-dir /data --create-home tenure
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 2379 2380
# TERM hands over the leadership.
STOPSIGNAL SIGTERM
ENTRYPOINT ["tenure"]
CMD ["serve", "--data-dir", "/data/default"]

FROM base AS prebuilt
COPY target/package/bin/tenure /usr/bin/tenure

FROM ${RUST} AS build
WORKDIR /source
COPY . .
RUN cargo build --release --locked --package tenure --features tls && strip -o /tenure target/release/tenure

FROM base
COPY --from=build /tenure /usr/bin/tenure
