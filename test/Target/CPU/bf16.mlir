// On CPUs without bf16, LLVM narrows to it by a call that a plan has to answer itself.
// RUN: gantry compile %s --target-cpu=x86-64-v3 -o %t.gantry
// RUN: gantry run %t.gantry --fill ramp | FileCheck %s

// CHECK: output0: bf16[3,4] on CPU:0
// CHECK-NEXT: 0. 1. 2. 3.
// CHECK-NEXT: 4. 5. 6. 7.
// CHECK-NEXT: 8. 9. 10. 11.
func.func @main(%x: tensor<3x4xf32>) -> tensor<3x4xbf16> {
  %0 = gantry.cast %x : (tensor<3x4xf32>) -> tensor<3x4xbf16>
  return %0 : tensor<3x4xbf16>
}
