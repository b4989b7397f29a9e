// Libraries in the place of kernels: which products they are asked for, in what words.

// A kernel of its own for each product, whose first variant is the library's; scratch memory is its workspace.
// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 --libraries=cublaslt -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s
// CHECK: plan.kernel @matmul_0 {{.*}} scratch 131328 variants [#plan.variant<"cuda", library = "cublasLt", version = "12.0", symbol = "matmul f32 in f32 batch 1 rows 32 columns 64 terms 48 left 0 48 0 right 1 64 0 result 2 64 0", scratch = 131328>, #plan.variant<"cuda", code = @code0
// CHECK: plan.kernel @add_0 {{.*}} scratch 0 variants [#plan.variant<"cuda", code =
// CHECK: plan.kernel @matmul_1 {{.*}} variants [#plan.variant<"cuda", library = "cublasLt", version = "12.0", symbol = "matmul f16 in f32 batch 2 rows 32 columns 64 terms 48 left 0t 32 1536 right 1t 48 3072 result 2 64 2048", scratch = 262400>, #plan.variant<"cuda", code = @code0
// Where one side is the same for all of the batch, it is one product of more rows.
// CHECK: symbol = "matmul f32 in f32 batch 1 rows 96 columns 64 terms 48 left 0 48 0 right 1 64 0 result 2 64 0"
// Whole numbers, f64, too few terms and convolutions are computed by kernels of our own.
// CHECK-COUNT-4: variants [#plan.variant<"cuda", code =
// CHECK: plan.func

// The same with nothing fused, and with --math=tf32 for f32 alone.
// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 --libraries=cublaslt --no-fuse -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s --check-prefix=UNFUSED
// UNFUSED-COUNT-3: library = "cublasLt"
// UNFUSED-NOT: library =
// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 --libraries=cublaslt --math=tf32 --gpu-arch=sm_80 --cubins=off -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s --check-prefix=TF32
// TF32: symbol = "matmul f32 in tf32 batch 1 rows 32
// TF32: symbol = "matmul f16 in f32 batch 2
// TF32: symbol = "matmul f32 in tf32 batch 1 rows 96

// Rounded factors have sums of f32, which are the result; what follows them is another kernel in turn.
// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 --libraries=cublaslt --math=bf16 --gpu-arch=sm_80 --cubins=off -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s --check-prefix=BF16
// BF16: plan.kernel @matmul_0 {{.*}} symbol = "matmul bf16 to f32 in f32 batch 1 rows 32 columns 64 terms 48 left 0 48 0 right 1 64 0 result 2 64 0", scratch = 131328>, #plan.variant<"cuda", code = @code0
// BF16: plan.kernel @add_0
// BF16: symbol = "matmul f16 in f32 batch 2
// BF16: symbol = "matmul bf16 to f32 in f32 batch 1 rows 96
// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 --libraries=cublaslt --math=f16 -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s --check-prefix=F16
// F16: plan.kernel @matmul_0 {{.*}} symbol = "matmul f16 to f32 in f32 batch 1 rows 32
// F16: symbol = "matmul f16 in f32 batch 2
// F16: symbol = "matmul f16 to f32 in f32 batch 1 rows 96

// What the library does not have keeps what follows it: few terms, integers.
// RUN: gantry compile %s --entry=few --devices=CPU:0,GPU:0 --libraries=cublaslt -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s --check-prefix=FEW
// FEW-NOT: library =
// FEW-DAG: plan.kernel @matmul_relu_0
// FEW-DAG: plan.kernel @matmul_relu_1
// FEW-NOT: library =
// FEW: plan.func

// An emulated GPU has no libraries and says so once; the next variant runs.
// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 --libraries=cublaslt -o %t.gantry
// RUN: gantry run %t.gantry --emulate --fill x=ramp --fill w=ramp --fill b=ramp -v 2>&1 | FileCheck %s --check-prefix=EMULATED
// EMULATED: 3 kernels run on '{{.*}}GPU:0' as PTX for sm_75; what comes before it in the plan cannot run here: cublasLt 12.0 (an emulated GPU has no library 'cublasLt'

// Text says which libraries it is for; a flag that is given says it anew.
// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 --libraries=cublaslt --stop-after=place -o %t.place.mlir
// RUN: FileCheck %s --check-prefix=TEXT --input-file=%t.place.mlir
// TEXT: gantry.targets = #gantry.targets<{{.*}}libraries = ["cublasLt"]
// RUN: gantry compile %t.place.mlir -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s --check-prefix=UNFUSED
// RUN: gantry compile %t.place.mlir --libraries=none -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s --check-prefix=NONE

// Without the flag small ones have none, and a bias stays with its product.
// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s --check-prefix=NONE
// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 --libraries=none -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s --check-prefix=NONE
// NONE-NOT: library =
// NONE: plan.kernel @matmul_add_
// RUN: not gantry compile %s --entry=main --devices=CPU:0,GPU:0 --libraries=cublas -o %t.none 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: gantry: error: --libraries: expected one of auto, none, cublaslt, got 'cublas'; did you mean 'cublaslt'?

func.func @main(%x: tensor<32x48xf32> {gantry.name = "x"}, %w: tensor<48x64xf32> {gantry.name = "w"},
                %b: tensor<64xf32> {gantry.name = "b"}, %h: tensor<2x48x32xf16> {gantry.name = "h"},
                %g: tensor<2x64x48xf16> {gantry.name = "g"}, %s: tensor<3x32x48xf32> {gantry.name = "s"},
                %i: tensor<32x48xi32> {gantry.name = "i"}, %j: tensor<48x64xi32> {gantry.name = "j"},
                %d: tensor<32x48xf64> {gantry.name = "d"}, %e: tensor<48x64xf64> {gantry.name = "e"},
                %few: tensor<32x8xf32> {gantry.name = "few"}, %of: tensor<8x64xf32> {gantry.name = "of"},
                %image: tensor<1x16x8x8xf32> {gantry.name = "image"}, %window: tensor<16x16x3x3xf32> {gantry.name = "window"})
    -> (tensor<32x64xf32> {gantry.name = "y0"}, tensor<2x32x64xf16> {gantry.name = "y1"},
        tensor<3x32x64xf32> {gantry.name = "y2"}, tensor<32x64xi32> {gantry.name = "y3"},
        tensor<32x64xf64> {gantry.name = "y4"}, tensor<32x64xf32> {gantry.name = "y5"},
        tensor<1x16x6x6xf32> {gantry.name = "y6"}) {
  %0 = gantry.matmul %x, %w : (tensor<32x48xf32>, tensor<48x64xf32>) -> tensor<32x64xf32>
  %1 = gantry.add %0, %b : (tensor<32x64xf32>, tensor<64xf32>) -> tensor<32x64xf32>
  %2 = gantry.matmul %h, %g {transpose_a, transpose_b} : (tensor<2x48x32xf16>, tensor<2x64x48xf16>) -> tensor<2x32x64xf16>
  %3 = gantry.matmul %s, %w : (tensor<3x32x48xf32>, tensor<48x64xf32>) -> tensor<3x32x64xf32>
  %4 = gantry.matmul %i, %j : (tensor<32x48xi32>, tensor<48x64xi32>) -> tensor<32x64xi32>
  %5 = gantry.matmul %d, %e : (tensor<32x48xf64>, tensor<48x64xf64>) -> tensor<32x64xf64>
  %6 = gantry.matmul %few, %of : (tensor<32x8xf32>, tensor<8x64xf32>) -> tensor<32x64xf32>
  %7 = gantry.conv %image, %window {groups = 1 : i64, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x6x6xf32>
  return %1, %2, %3, %4, %5, %6, %7 : tensor<32x64xf32>, tensor<2x32x64xf16>, tensor<3x32x64xf32>, tensor<32x64xi32>, tensor<32x64xf64>, tensor<32x64xf32>, tensor<1x16x6x6xf32>
}

func.func @few(%x: tensor<32x8xf16>, %w: tensor<8x64xf16>, %i: tensor<32x48xi32>, %j: tensor<48x64xi32>) -> (tensor<32x64xf16>, tensor<32x64xi32>) {
  %0 = gantry.matmul %x, %w : (tensor<32x8xf16>, tensor<8x64xf16>) -> tensor<32x64xf16>
  %1 = gantry.relu %0 : (tensor<32x64xf16>) -> tensor<32x64xf16>
  %2 = gantry.matmul %i, %j : (tensor<32x48xi32>, tensor<48x64xi32>) -> tensor<32x64xi32>
  %3 = gantry.relu %2 : (tensor<32x64xi32>) -> tensor<32x64xi32>
  return %1, %3 : tensor<32x64xf16>, tensor<32x64xi32>
}
