# The HTTP service, or any other whorl command: docker run --rm whorl --help
FROM python:3.11-slim

WORKDIR /build
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src ./src
COPY solr ./solr
# The versions that the tests run with; `tools/constraints.py` writes them.
RUN pip install --no-cache-dir --constraint constraints.txt '.[serve,files,opensearch]' \
    && rm -rf /build \
    && useradd --create-home --uid 10001 whorl

# By its number, which Kubernetes wants to see to believe that it is not root.
USER 10001
WORKDIR /home/whorl
# Others reach the container, so it starts with a key, or a user and a password, or WHORL_OPEN=true.
ENV WHORL_LISTEN=0.0.0.0:8000
# Or glibc keeps what each of the threads has freed, and the process grows without holding more.
ENV MALLOC_ARENA_MAX=2
EXPOSE 8000
# Whether the process answers; whether its store does is told by /readyz, and is no reason to start it anew.
# It is asked at the port of WHORL_LISTEN, and through no proxy that a variable names.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=6 \
    CMD ["python", "-c", "import os, urllib.request as r; r.build_opener(r.ProxyHandler({})).open('http://127.0.0.1:' + os.environ['WHORL_LISTEN'].rpartition(':')[2] + '/healthz', timeout=4)"]
ENTRYPOINT ["whorl"]
CMD ["serve"]
