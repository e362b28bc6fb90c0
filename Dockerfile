# The HTTP service, or any other whorl command: docker run --rm whorl --help
FROM python:3.11-slim

WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
COPY solr ./solr
RUN pip install --no-cache-dir '.[serve]' \
    && rm -rf /build \
    && useradd --create-home whorl

USER whorl
WORKDIR /home/whorl
EXPOSE 8000
ENTRYPOINT ["whorl"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
