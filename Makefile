# The two commands of the README, and the developer's. Each is a thin cover of tools/ and CMake.
jobs := $(shell getconf _NPROCESSORS_ONLN)
preset ?= release

.NOTPARALLEL:
.PHONY: run test build setup lint format bench load asan tsan clean

run: build  ## install what is missing, build, get the starter model and serve it with a chat
	build/release/hearth serve --model "$$(tools/starter-model)" $(ARGS)

test: setup-test  ## every test: unit suites under ASan and UBSan, the others on the release build
	tools/test

build: preset = release
build: setup configured  ## the program, at build/release/hearth
	cmake --build --preset release -j $(jobs) --target hearth

setup:
	tools/setup

setup-test:
	tools/setup --test

configured:
	@test -f build/$(preset)/build.ninja || cmake --preset $(preset)

lint: setup-test  ## formatting and clang-tidy
	tools/lint

format:  ## put every source file in the format of .clang-format
	git ls-files '*.h' '*.cpp' | xargs clang-format -i

bench: build  ## hearth beside llama.cpp and mlx-lm on the starter model
	tools/setup --test --bench
	.deps/oracle/bin/python bench/compare.py $(ARGS)

load: build  ## load on hearth's server, llama.cpp's and mlx-lm's
	tools/setup --test --bench
	.deps/oracle/bin/python bench/load.py $(ARGS)

asan: preset = asan
asan: setup configured  ## the unit suites under AddressSanitizer and UBSan
	cmake --build --preset asan -j $(jobs) --target unit_tests
	ctest --preset asan -j $(jobs) -L unit

tsan: preset = tsan
tsan: setup configured  ## the unit suites under ThreadSanitizer
	cmake --build --preset tsan -j $(jobs) --target unit_tests
	ctest --preset tsan -j $(jobs) -L unit

clean:
	rm -rf build
