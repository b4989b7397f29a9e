// By default products of plans for NVIDIA GPUs that a library is estimated to be faster at are its; nobody else's.
// DEFINE: %{flags} =
// DEFINE: %{plan} = gantry compile %s --entry=main %{flags} -o %t.gantry && gantry plan-text %t.gantry

// The product stands alone, its workspace is planned, and our code is behind the library's. So it is by default as with the flag.
// REDEFINE: %{flags} = --devices=CPU:0,GPU:0 --gpu-arch=sm_90 --cubins=off
// RUN: %{plan} | FileCheck %s
// CHECK: plan.kernel @matmul_0 {{.*}} scratch 4194560 variants [#plan.variant<"cuda", library = "cublasLt", version = "12.0", symbol = "matmul bf16 in f32 batch 1 rows 1024 columns 1024 terms 1024 left 0 1024 0 right 1 1024 0 result 2 1024 0", scratch = 4194560>, #plan.variant<"cuda", code = @code0, arch = [90, 0]
// CHECK: plan.kernel @add_relu_0 {{.*}} scratch 0 variants [#plan.variant<"cuda", code
// CHECK: plan.kernel @matmul_relu_0 {{.*}} scratch 0 variants [#plan.variant<"cuda", code
// CHECK: plan.buffer size 4194560 on @d1 in @transient_d1 at {{[0-9]+}} "scratch"
// RUN: cp %t.gantry %t.default.gantry
// REDEFINE: %{flags} = --devices=CPU:0,GPU:0 --gpu-arch=sm_90 --cubins=off --libraries=auto
// RUN: %{plan} > %t.auto && cmp %t.gantry %t.default.gantry
// REDEFINE: %{flags} = --devices=CPU:0,GPU:0 --gpu-arch=sm_90 --cubins=off --libraries=none
// RUN: %{plan} | FileCheck %s --check-prefix=NONE
// NONE-NOT: library =
// NONE: plan.kernel @matmul_add_relu_0 {{.*}} scratch 0 variants
// NONE-NOT: library =
// NONE: plan.func

// It is said of the plan, which one as well.
// RUN: gantry explain %t.default.gantry | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: 1 kernel, driver cuda: cublasLt 12.0, else PTX for sm_90

// Whatever is fused, the same product is the library's.
// REDEFINE: %{flags} = --devices=CPU:0,GPU:0 --gpu-arch=sm_90 --cubins=off --no-fuse
// RUN: %{plan} | FileCheck %s --check-prefix=UNFUSED
// UNFUSED: library = "cublasLt"
// UNFUSED-NOT: library = "cublasLt"

// Which GPU it is, and how many, does not matter; architectures do: for the oldest of a list the library has no bf16.
// REDEFINE: %{flags} = --devices=CPU:0,GPU:0,GPU:1 --gpu-arch=sm_80,sm_90 --cubins=off --place=op:MatMul=GPU:1
// RUN: %{plan} | FileCheck %s --check-prefix=ARCHS
// ARCHS: plan.kernel @matmul_0 {{.*}}library = "cublasLt"{{.*}} arch = [90, 0]{{.*}} arch = [80, 0]
// REDEFINE: %{flags} = --devices=CPU:0,GPU:0 --gpu-arch=sm_75,sm_90 --cubins=off
// RUN: %{plan} | FileCheck %s --check-prefix=NONE
// REDEFINE: %{flags} = --devices=CPU:0,GPU:0
// RUN: %{plan} | FileCheck %s --check-prefix=NONE

// Simulated GPUs have no library, unless a real one may stand in; a real one that is simulated as well has it.
// REDEFINE: %{flags} = --devices=CPU:0,GPU:0 --simulate
// RUN: %{plan} | FileCheck %s --check-prefix=SIMULATED
// REDEFINE: %{flags} = --devices=CPU:0,GPU:0 --simulate --libraries=auto
// RUN: %{plan} | FileCheck %s --check-prefix=SIMULATED
// REDEFINE: %{flags} = --devices=CPU:0,GPU:0 --simulate --also=cuda --gpu-arch=sm_90 --cubins=off
// RUN: %{plan} | FileCheck %s --check-prefix=SIMULATED
// SIMULATED-NOT: library =
// SIMULATED: plan.kernel @matmul_
// SIMULATED-NOT: library =
// SIMULATED: plan.func
// REDEFINE: %{flags} = --devices=CPU:0,GPU:0 --simulate --also=cuda --gpu-arch=sm_90 --cubins=off --libraries=auto
// RUN: %{plan} | FileCheck %s --check-prefix=ALSO
// REDEFINE: %{flags} = --devices=CPU:0,GPU:0 --also=sim --gpu-arch=sm_90 --cubins=off
// RUN: %{plan} | FileCheck %s --check-prefix=ALSO
// ALSO: plan.kernel @matmul_0 {{.*}}<"sim", code = @code0{{[^>]*}}>{{.*}}<"cuda", library = "cublasLt"

// Ops on a CPU have none, and there nothing is said of them.
// RUN: gantry compile %s --entry=main --stop-after=fuse -o - | FileCheck %s --check-prefix=HOST
// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 --gpu-arch=sm_90 --place=kind:compute=CPU:0 --stop-after=fuse -o - | FileCheck %s --check-prefix=HOST
// HOST: module @kernels_cpu
// HOST-NOT: by_library

// Texts of phases: the word, the mark, the product; a text's own word holds, an empty one, too.
// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 --gpu-arch=sm_90 --stop-after=place -o %t.place.mlir
// RUN: FileCheck %s --check-prefix=PLACE --input-file=%t.place.mlir
// PLACE: gantry.targets = #gantry.targets<{{.*}}libraries = ["auto"]
// PLACE: gantry.matmul {{.*}}by_library
// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 --gpu-arch=sm_90 --stop-after=fuse -o - | FileCheck %s --check-prefix=FUSE
// FUSE: gantry.kernel @matmul_0 {
// FUSE: gantry.matmul {{.*}} {by_library}
// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 --gpu-arch=sm_90 --stop-after=kernel -o - | FileCheck %s --check-prefix=KERNEL
// KERNEL: func.func private @matmul_0({{.*}}gantry.library_product = "matmul bf16 in f32
// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 --gpu-arch=sm_90 --stop-after=ptx -o - | FileCheck %s --check-prefix=PTX
// PTX: .entry matmul_0(
// RUN: gantry compile %t.place.mlir --gpu-arch=sm_90 --cubins=off -o %t.gantry && gantry plan-text %t.gantry | FileCheck %s --check-prefix=UNFUSED
// RUN: gantry compile %t.place.mlir --gpu-arch=sm_90 --cubins=off --libraries=none -o %t.gantry && gantry plan-text %t.gantry | FileCheck %s --check-prefix=NONE
// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 --gpu-arch=sm_90 --libraries=none --stop-after=place -o %t.none.mlir
// RUN: FileCheck %s --check-prefix=EMPTY --input-file=%t.none.mlir
// EMPTY: gantry.targets = #gantry.targets<{{.*}}libraries = []
// EMPTY-NOT: by_library
// RUN: gantry compile %t.none.mlir --gpu-arch=sm_90 --cubins=off -o %t.gantry && gantry plan-text %t.gantry | FileCheck %s --check-prefix=NONE

// Next to collectives of a library, which keep their word.
// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 --gpu-arch=sm_90 --collectives=nccl --stop-after=place -o %t.nccl.mlir
// RUN: FileCheck %s --check-prefix=NCCL --input-file=%t.nccl.mlir
// NCCL: gantry.targets = #gantry.targets<{{.*}}libraries = ["auto", "nccl"]
// RUN: gantry compile %t.nccl.mlir --libraries=none --stop-after=place -o - | FileCheck %s --check-prefix=ALONE
// ALONE: gantry.targets = #gantry.targets<{{.*}}libraries = ["nccl"]

// f32 stays in kernels of ours, unless its factors are rounded.
// RUN: gantry compile %s --entry=floats --devices=CPU:0,GPU:0 --gpu-arch=sm_90 --cubins=off -o %t.gantry && gantry plan-text %t.gantry | FileCheck %s --check-prefix=F32
// F32-NOT: library =
// F32: plan.kernel @matmul_add_0
// F32-NOT: library =
// F32: plan.func
// RUN: gantry compile %s --entry=floats --devices=CPU:0,GPU:0 --gpu-arch=sm_90 --cubins=off --math=tf32 -o %t.gantry && gantry plan-text %t.gantry | FileCheck %s --check-prefix=TF32
// TF32: "matmul f32 in tf32 batch 1 rows 2048 columns 2048 terms 2048
// RUN: gantry compile %s --entry=floats --devices=CPU:0,GPU:0 --gpu-arch=sm_90 --cubins=off --math=bf16 -o %t.gantry && gantry plan-text %t.gantry | FileCheck %s --check-prefix=BF16
// BF16: "matmul bf16 to f32 in f32 batch 1 rows 2048 columns 2048 terms 2048
// RUN: gantry compile %s --entry=floats --devices=CPU:0,GPU:0 --gpu-arch=sm_90 --cubins=off --math=f16 -o %t.gantry && gantry plan-text %t.gantry | FileCheck %s --check-prefix=F16
// F16: "matmul f16 to f32 in f32 batch 1 rows 2048 columns 2048 terms 2048

// Attention is one kernel, with --math or without, and its products are in it; predicted so by automatic placement, too.
// RUN: gantry compile %s --entry=attention --devices=CPU:0,GPU:0 --gpu-arch=sm_90 --cubins=off -o %t.gantry && gantry plan-text %t.gantry | FileCheck %s --check-prefix=ATTENTION
// RUN: gantry compile %s --entry=attention --devices=CPU:0,GPU:0 --gpu-arch=sm_90 --cubins=off --placement=auto -o %t.gantry && gantry plan-text %t.gantry | FileCheck %s --check-prefix=ATTENTION
// ATTENTION-NOT: library =
// ATTENTION: plan.kernel @matmul_mul_softmax_matmul_0
// ATTENTION-NOT: library =
// ATTENTION: plan.func

func.func @main(%x: tensor<1024x1024xbf16>, %w: tensor<1024x1024xbf16>, %b: tensor<1024xbf16>, %small: tensor<64x64xbf16>)
    -> (tensor<1024x1024xbf16>, tensor<64x64xbf16>) {
  %0 = gantry.matmul %x, %w : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %1 = gantry.add %0, %b : (tensor<1024x1024xbf16>, tensor<1024xbf16>) -> tensor<1024x1024xbf16>
  %2 = gantry.relu %1 : (tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %3 = gantry.matmul %small, %small : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %4 = gantry.relu %3 : (tensor<64x64xbf16>) -> tensor<64x64xbf16>
  return %2, %4 : tensor<1024x1024xbf16>, tensor<64x64xbf16>
}

func.func @floats(%x: tensor<2048x2048xf32>, %w: tensor<2048x2048xf32>, %b: tensor<2048xf32>) -> tensor<2048x2048xf32> {
  %0 = gantry.matmul %x, %w : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %1 = gantry.add %0, %b : (tensor<2048x2048xf32>, tensor<2048xf32>) -> tensor<2048x2048xf32>
  return %1 : tensor<2048x2048xf32>
}

func.func @attention(%q: tensor<96x256x64xbf16>, %k: tensor<96x256x64xbf16>, %v: tensor<96x256x64xbf16>, %s: tensor<bf16>) -> tensor<96x256x64xbf16> {
  %0 = gantry.matmul %q, %k {transpose_b} : (tensor<96x256x64xbf16>, tensor<96x256x64xbf16>) -> tensor<96x256x256xbf16>
  %1 = gantry.mul %0, %s : (tensor<96x256x256xbf16>, tensor<bf16>) -> tensor<96x256x256xbf16>
  %2 = gantry.softmax %1 {axis = 2 : i64} : (tensor<96x256x256xbf16>) -> tensor<96x256x256xbf16>
  %3 = gantry.matmul %2, %v : (tensor<96x256x256xbf16>, tensor<96x256x64xbf16>) -> tensor<96x256x64xbf16>
  return %3 : tensor<96x256x64xbf16>
}
