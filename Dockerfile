# The HTTP service, or any other whorl command: docker run --rm whorl --help
FROM python:3.11-slim

WORKDIR /build
COPY pyproject.toml hatch_build.py README.md LICENSE constraints.txt ./
COPY src ./src
COPY solr ./solr
# Versions that the tests run with, written by `tools/constraints.py`.
RUN pip install --no-cache-dir --constraint constraints.txt '.[serve,files,opensearch]' \
    && rm -rf /build \
    && useradd --create-home --uid 10001 whorl

# A numeric user, so that Kubernetes can verify that it is not root (runAsNonRoot).
USER 10001
WORKDIR /home/whorl
# The container listens on all addresses, so it starts only with a key, a user and a password, or WHORL_OPEN=true.
ENV WHORL_LISTEN=0.0.0.0:8000
# By default glibc keeps freed memory separately for many threads, and the process grows.
ENV MALLOC_ARENA_MAX=2
EXPOSE 8000
# Checks the process, not its store: /readyz checks the store, and a restart would not repair it.
# Uses the port of WHORL_LISTEN, and ignores proxy variables.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=6 \
    CMD ["python", "-c", "import os, urllib.request as r; r.build_opener(r.ProxyHandler({})).open('http://127.0.0.1:' + os.environ['WHORL_LISTEN'].rpartition(':')[2] + '/healthz', timeout=4)"]
ENTRYPOINT ["whorl"]
CMD ["serve"]
