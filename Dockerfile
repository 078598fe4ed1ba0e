# unbag on a CPU: `docker build -t unbag . && docker run --rm unbag` runs the demonstration without network access.
#   docker run --rm -v "$PWD:/work" unbag build permuted --data pairs.csv --output set.parquet
# With models: `docker build --build-arg EXTRAS=[models] -t unbag .`
FROM python:3.12-slim
ARG EXTRAS=""
WORKDIR /src
COPY . .
RUN pip install --no-cache-dir --constraint constraints.txt ".$EXTRAS"
RUN useradd --create-home unbag && mkdir /work && chown unbag /work
USER unbag
WORKDIR /work
ENTRYPOINT ["unbag"]
CMD ["demo"]
