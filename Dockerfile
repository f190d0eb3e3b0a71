# The sidecar as an image: no shell, no package manager and no compiler is in it, nothing of it is written to.
#
#   docker build --tag sidemirror .
#   docker run --read-only --network host --volume sidemirror:/data sidemirror
#
# It listens on loopback only, so a published port reaches nothing; deploy/README.md has what to do in a network of its
# own.
#
# The first stage installs, with Python 3.11 or later: any Debian-like image with python3 and its venv module does
# (--build-arg BASE=…). The second is what the sidecar needs of that (tools/image-root), and nothing else.
ARG BASE=docker.io/library/python:3.13-slim-bookworm

FROM ${BASE} AS build
# What is not needed to serve: --build-arg EXTRAS= leaves all of it out. deploy/README.md says what each is for.
ARG EXTRAS="embeddings mcp openai qdrant telemetry"
# What uv.lock says, by digest. The authorities are the base image's, so that it builds behind a proxy of one's own too.
ENV UV_LINK_MODE=copy \
    UV_COMPILE_BYTECODE=1 \
    UV_PYTHON_DOWNLOADS=never \
    UV_NO_CACHE=1 \
    UV_SYSTEM_CERTS=1 \
    UV_PROJECT_ENVIRONMENT=/opt/sidemirror
RUN python3 -m venv /opt/uv && /opt/uv/bin/pip install --quiet --no-cache-dir "uv>=0.13,<1"
WORKDIR /source
COPY pyproject.toml uv.lock README.md LICENSE CHANGELOG.md ./
COPY protos protos
COPY generated/python generated/python
COPY clients/python clients/python
# First what seldom changes.
RUN /opt/uv/bin/uv sync --locked --no-dev --no-install-workspace ${EXTRAS:+$(printf -- '--extra %s ' $EXTRAS)}
COPY server server
RUN /opt/uv/bin/uv sync --locked --no-dev --no-editable ${EXTRAS:+$(printf -- '--extra %s ' $EXTRAS)}
# What is in the image, for whoever looks for a package with a hole in it.
RUN /opt/uv/bin/uv export --locked --no-dev --no-emit-project ${EXTRAS:+$(printf -- '--extra %s ' $EXTRAS)} \
        --format cyclonedx1.5 --preview-features sbom-export --output-file /opt/sidemirror/sbom.cdx.json --quiet \
    && mkdir -m 0700 /data && mkdir -p -m 0770 /run/sidemirror
# Packages bring tests of their own.
COPY tools/image-root tools/image-root
RUN find /opt/sidemirror/lib -depth -type d -name tests -exec rm -r {} + \
    && /opt/sidemirror/bin/python3 tools/image-root /image

FROM scratch
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Sidemirror" \
      org.opencontainers.image.description="A gRPC sidecar that gives any agent a second look at its own work" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/sidemirror/sidemirror" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /image /
COPY --from=build /opt/sidemirror /opt/sidemirror
COPY --from=build --chown=65532:65532 /data /data
# Where a socket may be (SIDEMIRROR_SOCKET): a named volume that is mounted here belongs to the sidecar's user and group.
COPY --from=build --chown=65532:65532 /run/sidemirror /run/sidemirror
# The one place that is written to, and what telemetry and health say of it.
ENV PATH=/opt/sidemirror/bin \
    SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    SIDEMIRROR_DATA_DIR=/data
USER 65532:65532
WORKDIR /data
VOLUME ["/data"]
# Loopback, of the container's own network or of its pod: beyond it the server wants TLS and tokens.
EXPOSE 50051
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 CMD ["/opt/sidemirror/bin/sidemirror", "health"]
ENTRYPOINT ["/opt/sidemirror/bin/sidemirror"]
CMD ["serve"]
