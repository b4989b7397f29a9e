"""Makes the folder that is carried to a machine with a GPU: plans, what they have to give, the runtime.

That machine has no compiler, no flatc, no CLI11 and no network. So carried are: libraries and programs
of a runtime-only build with what they need beside glibc; plans of the kernel table, of recorded
programs, of networks (networks.py says how little their weights take) and of what is timed; inputs as
seeds; and expected bits, by the interpreter, as hashes. Not carried: the compiler, since MLIR and LLVM in one
library must find the same glibc, and plans are what a user ships, too.

Usage: bundle.py [--build BUILD] [--runtime BUILD] [--arch sm_90] [--sizes N,N] [--ops OP,OP] [--products N] [--attention N]
                 [--staged N] [--parts PART,PART] [--networks NAME,NAME] [--small]
"""

import argparse
import json
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import common
import kernel_cases
import networks
import recorded
import speed_programs

import gantry_api
import workers

LIMIT = 64 << 20  # what the other machine takes, with the tracked files
PARTS = ("programs", "networks", "speed")  # besides bits
PROGRAMS = ("gantry", "DriverConformanceTest")
LIBRARIES = ("libgantry-runtime.so", "libgantry-emulator.so")
OF_REHEARSAL = ("libfake-cuda.so",)
# What a machine with a C++ compiler has; a copy would stand before the one that its PyTorch wants.
OF_SYSTEM = re.compile(r"(ld-linux.*|libc|libm|libdl|librt|libpthread|libresolv|libstdc\+\+|libgcc_s)\.so")


class Bundle:
    def __init__(self, arguments):
        self.arguments, self.folder = arguments, common.BUNDLE
        self.flags = ["devices=CPU:0,GPU:0", f"gpu-arch={arguments.arch}", "target-cpu=x86-64-v3"]
        if arguments.small:
            self.flags.append("cubins=off")  # the fake runs PTX
        self.ours = [*self.flags, "libraries=none"]  # whose bits are the interpreter's
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in ("bits", "programs", "networks", "speed", "data", "lib", "bin"):
            (self.folder / name).mkdir(parents=True)

    def keep(self, content, name):
        """Compresses a plan; its name in the bundle."""
        with lzma.open(self.folder / f"{name}.xz", "wb", preset=1) as file:
            file.write(content)
        return f"{name}.xz"

    def keep_file(self, file, name):
        with open(file, "rb") as plain, lzma.open(self.folder / f"{name}.xz", "wb", preset=1) as packed:
            shutil.copyfileobj(plain, packed, 1 << 22)
        return f"{name}.xz"

    # --- the runtime -------------------------------------------------------------------------------

    def runtime(self):
        build = self.arguments.runtime
        libraries = LIBRARIES + (OF_REHEARSAL if self.arguments.small else ())
        for folder, names in (("bin", PROGRAMS), ("lib", libraries)):
            for name in names:
                target = self.folder / folder / name
                shutil.copy(build / folder / name, target)
                subprocess.run(["strip", "--strip-unneeded", target], check=True)
        (self.folder / "lib/libgantry-runtime.so.0.1").symlink_to("libgantry-runtime.so")
        self.needed()

    def needed(self):
        """Shared libraries that may be missing there, found by the loader here."""
        found = {}
        for file in (*(self.folder / "bin").iterdir(), *(self.folder / "lib").iterdir()):
            listed = subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout
            found.update(re.findall(r"^\s*(\S+) => (/\S+)", listed, re.MULTILINE))
        for name, path in found.items():
            if not OF_SYSTEM.match(name) and "gantry" not in name:
                shutil.copy(path, self.folder / "lib" / name)

    # --- bits --------------------------------------------------------------------------------------

    def one_group(self, index):
        """In a worker: compiles a group of cases, runs it interpreted; its entry of the manifest."""
        import runtime
        names = self.groups[index]
        with tempfile.TemporaryDirectory() as scratch:
            _, file, inputs, outputs = kernel_cases.packed(names, scratch)
            content = gantry_api.compile_model(file, [*self.ours, *kernel_cases.flags_of(names)], inputs)
            plan_file = pathlib.Path(scratch) / "plan.gantry"
            plan_file.write_bytes(content)
            plan = runtime.Plan(runtime.Runtime(emulate="nothing"), plan_file)
            results = plan.run(inputs)
            halves = {name for name, info in plan.infos("output").items() if info.element == gantry_api.BF16}
            plan.close()
        return {"plan": self.keep(content, f"bits/{index}.gantry"), "cases": names,
                "inputs": kernel_cases.digest_inputs(inputs), "tensor_cores": b"mma.sync" in content,
                "outputs": [[kernel_cases.digest(results[name], name in halves) for name in some] for some in outputs]}

    def bits(self):
        names = kernel_cases.names(self.arguments.sizes, self.arguments.ops)
        self.groups = [*kernel_cases.groups(names), *kernel_cases.drawn_groups("product", "mixed", self.arguments.products),
                       *kernel_cases.drawn_groups("attention-of-ops", "f32", self.arguments.attention),
                       *kernel_cases.drawn_groups("staged", "mixed", self.arguments.staged),
                       *kernel_cases.drawn_groups("rounded", "mixed", self.arguments.staged)]
        print(f"bits: {sum(map(len, self.groups))} cases in {len(self.groups)} plans", flush=True)
        made, left_out = [], []
        for index, entry in workers.run_all(self.try_group, range(len(self.groups)), self.arguments.jobs, 300,
                                            on_crash=lambda why: why, on_timeout=lambda: "more than 300 s"):
            if isinstance(entry, dict):
                made.append((index, entry))
            else:
                left_out.append(f"{self.groups[index][0]} and {len(self.groups[index]) - 1} more: {entry}")
        for line in left_out:
            print(f"  left out: {line}"[:300])
        return [entry for _, entry in sorted(made, key=lambda pair: pair[0])], left_out

    def try_group(self, index):
        try:
            return self.one_group(index)
        except Exception as error:  # of one group; the others are still worth carrying
            return f"{type(error).__name__}: {error}"

    # --- whole programs ----------------------------------------------------------------------------

    def programs(self):
        made = []
        with tempfile.TemporaryDirectory() as scratch:
            for number, program in enumerate(recorded.programs(self.arguments.build, pathlib.Path(scratch),
                                                               self.folder / "data")):
                plan = pathlib.Path(scratch) / "plan.gantry"
                command = [self.arguments.build / "bin/gantry", "compile", program.pop("file"),
                           *recorded.on_one_gpu(program.pop("compile")),
                           *(f"--{flag}" for flag in self.ours[1:]), "-o", plan]
                done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=program.pop("folder"))
                if done.returncode:
                    print(f"  left out: {program['name']}: {done.stderr.strip()[-200:]}")
                    continue
                made.append({**program, "plan": self.keep_file(plan, f"programs/{number}.gantry")})
        print(f"programs: {len(made)}", flush=True)
        return made

    def networks(self):
        script = common.ROOT.parent / "shared/models/make_models.py"
        script = pathlib.Path(os.environ.get("GANTRY_MODELS_DIR", script.parent)) / script.name
        made = []
        if not script.exists():
            print(f"  left out: networks: no {script}")
            return made
        shutil.copy(script, self.folder / script.name)
        for name, dtype in self.chosen_networks():
            with tempfile.TemporaryDirectory() as scratch:
                made += self.network(script, name, dtype, pathlib.Path(scratch))
        return made

    def chosen_networks(self):
        """(name, element type); a rehearsal has the others as well where --networks says so."""
        every = self.arguments.networks or (networks.SMALL if self.arguments.small else networks.NAMES)
        return [(name, "f32") for name in every] + [(name, "bf16") for name in every if name in networks.BF16]

    def network(self, script, name, dtype, scratch):
        """Its entries: with our kernels, and with a library for its products where it has many; in bf16 also for those that it
        has by default."""
        title, model = f"{name} {dtype}", scratch / f"{name}.onnx"
        try:
            networks.export(script, name, model, dtype)
        except Exception as error:  # no PyTorch, or one that cannot export this
            print(f"  left out: {title}: {type(error).__name__}: {error}"[:200])
            return []
        if (name, dtype) == ("mlp", "f32"):
            shutil.copy(model, self.folder / "networks/mlp-f32.onnx")  # for split()
        variants = ({}, {"by_library": True}) if name in networks.BY_LIBRARY else ({},)
        if len(variants) == 2 and dtype == "bf16":
            variants += ({"by_estimate": True},)
        made = [self.network_plan({"name": name, "dtype": dtype, **which}, model) for which in variants]
        return [entry for entry in made if entry]

    def network_plan(self, entry, model):
        """The entry with its plan, or None."""
        start, title, plan = time.monotonic(), networks.title(entry), model.with_suffix(".gantry")
        flags = [*self.flags, f"libraries={networks.library_of(entry)}"]
        done = subprocess.run([str(self.arguments.build / "bin/gantry"), "compile", str(model), "-o", str(plan),
                               *(f"--{flag}" for flag in flags)], capture_output=True, text=True)
        if done.returncode:
            print(f"  left out: {title}: {done.stderr.strip()[-200:]}")
            return None
        name = self.keep_file(plan, f"networks/{title.replace(', ', '-').replace(' ', '-')}.gantry")
        print(f"  {title}: {plan.stat().st_size >> 20} MiB as {(self.folder / name).stat().st_size >> 10} KiB, "
              f"{time.monotonic() - start:.0f} s", flush=True)
        return {**entry, "plan": name, "bytes": plan.stat().st_size, "large": entry["name"] not in networks.SMALL}

    def split(self):
        """Two logical devices of one card with limits, and a network over both."""
        file = next((file for file in (self.folder / "networks").glob("mlp-f32.onnx")), None)
        plan = self.folder / "networks/split.gantry"
        if file is None:
            return []
        done = subprocess.run([str(self.arguments.build / "bin/gantry"), "compile", str(file), "-o", str(plan),
                               *(f"--{flag}" for flag in self.ours), "--split=GPU:0=64MiB,48MiB", "--place=op:Relu=GPU:1"],
                              capture_output=True, text=True)
        file.unlink()
        if done.returncode:
            print(f"  left out: split: {done.stderr.strip()[-200:]}")
            return []
        entry = {"name": "mlp on two parts", "plan": self.keep_file(plan, "networks/split.gantry")}
        plan.unlink()
        return [entry]

    def on_device(self):
        """A graph whose input and output are on the GPU, for arrays of the caller."""
        file = common.ROOT / "test/conformance/Inputs/on-device.mlir"
        content = gantry_api.compile_model(file, self.ours, {})
        return [{"name": "arrays and a stream of the caller", "plan": self.keep(content, "programs/on-device.gantry")}]

    def speed(self):
        made = []
        with tempfile.TemporaryDirectory() as scratch:
            for name, what, text, flags in speed_programs.programs(self.arguments.small):
                file = pathlib.Path(scratch) / "speed.mlir"
                file.write_text(text)
                try:
                    said = {flag.partition("=")[0] for flag in flags}
                    own = [flag for flag in self.ours if flag.partition("=")[0] not in said]
                    content = gantry_api.compile_model(file, [*own, *flags], {})
                except gantry_api.Refused as refusal:
                    print(f"  left out: {name}: {refusal}"[:300])
                    continue
                made.append({"name": name, **what, "plan": self.keep(content, f"speed/{len(made)}.gantry")})
        print(f"speed: {len(made)} programs", flush=True)
        return made

    def write(self):
        self.runtime()
        bits, left_out = self.bits()
        parts = {part: getattr(self, part)() if part in self.arguments.parts else [] for part in PARTS}
        commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, cwd=common.ROOT)
        content = {"commit": commit.stdout.strip(), "arch": self.arguments.arch, "small": self.arguments.small,
                   "bits": bits, "left_out": left_out, **parts, "split": self.split(), "on_device": self.on_device()}
        (self.folder / "manifest.json").write_text(json.dumps(content, indent=0))


def tracked_bytes():
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, cwd=common.ROOT, check=True).stdout
    return sum((common.ROOT / name).stat().st_size for name in listed.split("\0") if name and (common.ROOT / name).is_file())


def main():
    numbers = lambda text: tuple(int(part) for part in text.split(","))
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, default=common.ROOT / "build/release", help="with the compiler")
    parser.add_argument("--runtime", type=pathlib.Path, default=None, help="whose runtime is carried (default: BUILD's)")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--sizes", type=numbers, default=(1, 33, 197, 1025))
    parser.add_argument("--products", type=int, default=200, help="random products, convolutions, attention")
    parser.add_argument("--attention", type=int, default=90, help="random attention that is written as ops")
    parser.add_argument("--staged", type=int, default=24, help="random products and convolutions whose tiles come in stages, and as "
                        "many of rounded factors")
    parser.add_argument("--ops", type=lambda text: text.split(","), default=())
    parser.add_argument("--parts", type=lambda text: text.split(","), default=PARTS, help="besides bits: " + ", ".join(PARTS))
    parser.add_argument("--networks", type=lambda text: text.split(","), default=(), help="instead of " + ", ".join(networks.NAMES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--small", action="store_true", help="what a rehearsal needs")
    arguments = parser.parse_args()
    arguments.build, arguments.runtime = (arguments.build.resolve(), (arguments.runtime or arguments.build).resolve())
    gantry_api.load(arguments.build)
    Bundle(arguments).write()
    size = sum(file.stat().st_size for file in common.BUNDLE.rglob("*") if file.is_file() and not file.is_symlink())
    whole = size + tracked_bytes()
    print(f"{common.BUNDLE}: {size / 2**20:.1f} MiB, with the tracked files {whole / 2**20:.1f} MiB of {LIMIT >> 20}")
    if whole > LIMIT:
        shutil.rmtree(common.BUNDLE)
        sys.exit("gpu_check: too large to be carried; fewer --sizes make it smaller. Removed again")


if __name__ == "__main__":
    main()
