// Kernels whose loops are the same have one code, under the name of each.
// RUN: gantry compile %s --target-cpu=x86-64-v3 --no-fuse -o %t.gantry
// RUN: %python -B %S/Inputs/extract_objects.py %t.gantry %t
// RUN: llvm-nm -D --defined-only %t.0 | FileCheck %s
// CHECK:      [[ADD:[0-9a-f]+]] T add_0
// CHECK-NEXT: [[ADD]] T add_1
// CHECK-NOT:  [[ADD]] T
// CHECK:      T mul_0

func.func @main(%x: tensor<4x6xf32>, %y: tensor<24xf32>) -> (tensor<4x6xf32>, tensor<24xf32>, tensor<24xf32>) {
  %0 = gantry.add %x, %x : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = gantry.add %y, %y : (tensor<24xf32>, tensor<24xf32>) -> tensor<24xf32>
  %2 = gantry.mul %y, %y : (tensor<24xf32>, tensor<24xf32>) -> tensor<24xf32>
  return %0, %1, %2 : tensor<4x6xf32>, tensor<24xf32>, tensor<24xf32>
}
