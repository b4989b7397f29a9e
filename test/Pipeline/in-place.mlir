// A variable's new value is computed over the old one, and the code says so: the kernel reads what it
// writes through one pointer, and the vectoriser needs no check whether they are the same.
// RUN: gantry compile %s --stop-after=llvm -o - | FileCheck %s

// CHECK: define {{.*}}@update_add_0(ptr noalias readnone {{.*}}%0, ptr noalias readonly {{.*}}%1, ptr noalias align 64 captures(none) %2
// CHECK-NOT: memcheck
// CHECK: load <{{[0-9]+}} x float>, ptr %
module {
  gantry.variable @w = dense<0.5> : tensor<4096xf32>
  func.func @step(%x: tensor<4096xf32>) {
    gantry.assign_add @w, %x : tensor<4096xf32>
    return
  }
}
