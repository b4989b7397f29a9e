// Kernels of marked products say what a library is asked for, in the words of the plan.
// RUN: gantry-opt %s --gantry-name-library-products | FileCheck %s

module attributes {gantry.target = #gantry.target<"cuda", machines = ["sm_80"], math = tf32>} {

// CHECK-LABEL: gantry.kernel @plain
// CHECK-SAME: gantry.library_product = "matmul f16 in f32 batch 1 rows 32 columns 64 terms 48 left 0 48 0 right 1 64 0 result 2 64 0"
// CHECK-NOT: by_library
gantry.kernel @plain attributes {gantry.work = #gantry.work<items = 1>} {
^bb0(%x: tensor<32x48xf16>, %w: tensor<48x64xf16>):
  %0 = gantry.matmul %x, %w {by_library} : (tensor<32x48xf16>, tensor<48x64xf16>) -> tensor<32x64xf16>
  gantry.yield %0 : tensor<32x64xf16>
}

// Of f32 in the type that the module multiplies in; buffers are those of the launch, whatever their order.
// CHECK-LABEL: gantry.kernel @rounded
// CHECK-SAME: gantry.library_product = "matmul f32 in tf32 batch 1 rows 32 columns 64 terms 48 left 1 48 0 right 0 64 0 result 2 64 0"
gantry.kernel @rounded {
^bb0(%w: tensor<48x64xf32>, %x: tensor<32x48xf32>):
  %0 = gantry.matmul %x, %w {by_library} : (tensor<32x48xf32>, tensor<48x64xf32>) -> tensor<32x64xf32>
  gantry.yield %0 : tensor<32x64xf32>
}

// One argument twice, and a result that is wider than the factors.
// CHECK-LABEL: gantry.kernel @square
// CHECK-SAME: gantry.library_product = "matmul bf16 to f32 in f32 batch 2 rows 32 columns 32 terms 48 left 0 48 1536 right 0t 48 1536 result 1 32 1024"
gantry.kernel @square {
^bb0(%x: tensor<2x32x48xbf16>):
  %0 = gantry.matmul %x, %x {transpose_b, accumulate_type = f32, by_library} : (tensor<2x32x48xbf16>, tensor<2x32x48xbf16>) -> tensor<2x32x32xf32>
  gantry.yield %0 : tensor<2x32x32xf32>
}

// A batch of the left side alone is more rows; a line has the length of a row; sides of one element are no loops.
// CHECK-LABEL: gantry.kernel @rows
// CHECK-SAME: "matmul f16 in f32 batch 1 rows 96 columns 1 terms 48 left 0 48 0 right 1 1 0 result 2 1 0"
gantry.kernel @rows {
^bb0(%x: tensor<3x1x32x48xf16>, %w: tensor<1x48x1xf16>):
  %0 = gantry.matmul %x, %w {by_library} : (tensor<3x1x32x48xf16>, tensor<1x48x1xf16>) -> tensor<3x1x32x1xf16>
  gantry.yield %0 : tensor<3x1x32x1xf16>
}

// CHECK-LABEL: gantry.kernel @line
// CHECK-SAME: "matmul f16 in f32 batch 3 rows 1 columns 64 terms 64 left 0 64 64 right 1 64 4096 result 2 64 64"
gantry.kernel @line {
^bb0(%x: tensor<3x64x1xf16>, %w: tensor<3x64x64xf16>):
  %0 = gantry.matmul %x, %w {transpose_a, by_library} : (tensor<3x64x1xf16>, tensor<3x64x64xf16>) -> tensor<3x1x64xf16>
  gantry.yield %0 : tensor<3x1x64xf16>
}

// Two batches of both sides are one, where they lie behind each other.
// CHECK-LABEL: gantry.kernel @batches
// CHECK-SAME: "matmul f16 in f32 batch 6 rows 32 columns 64 terms 48 left 0t 32 1536 right 1 64 3072 result 2 64 2048"
gantry.kernel @batches {
^bb0(%x: tensor<2x3x48x32xf16>, %w: tensor<2x3x48x64xf16>):
  %0 = gantry.matmul %x, %w {transpose_a, by_library} : (tensor<2x3x48x32xf16>, tensor<2x3x48x64xf16>) -> tensor<2x3x32x64xf16>
  gantry.yield %0 : tensor<2x3x32x64xf16>
}

// One of the right side alone has the same left matrix each time.
// CHECK-LABEL: gantry.kernel @columns
// CHECK-SAME: "matmul f16 in f32 batch 6 rows 32 columns 64 terms 48 left 0 48 0 right 1 64 3072 result 2 64 2048"
gantry.kernel @columns {
^bb0(%x: tensor<32x48xf16>, %w: tensor<2x3x48x64xf16>):
  %0 = gantry.matmul %x, %w {by_library} : (tensor<32x48xf16>, tensor<2x3x48x64xf16>) -> tensor<2x3x32x64xf16>
  gantry.yield %0 : tensor<2x3x32x64xf16>
}

// What is not marked stays.
// CHECK-LABEL: gantry.kernel @ours
// CHECK-NOT: library
gantry.kernel @ours {
^bb0(%x: tensor<32x48xf16>, %w: tensor<48x64xf16>):
  %0 = gantry.matmul %x, %w : (tensor<32x48xf16>, tensor<48x64xf16>) -> tensor<32x64xf16>
  gantry.yield %0 : tensor<32x64xf16>
}
}
