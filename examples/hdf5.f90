! Writes a field to an HDF5 file with an error of at most 0.01 and reads it back. HDF5_PLUGIN_PATH names the folder of libh5fzgm.so.
!
!   h5fc -shlib hdf5.f90 -o hdf5       or gfortran, with the modules of HDF5 on -I and -lhdf5_fortran -lhdf5
!   HDF5_PLUGIN_PATH=<prefix>/lib/fzgm/hdf5 ./hdf5
program hdf5_with_fzgm
  use hdf5
  use, intrinsic :: iso_fortran_env, only: real32, real64
  implicit none
  integer, parameter :: fzgm = 32770, mandatory = 0, mode_abs = 1, preset_fast = 3
  real(real64), parameter :: bound = 0.01_real64
  integer(hsize_t), parameter :: dims(2) = [400_hsize_t, 300_hsize_t], chunk(2) = [200_hsize_t, 100_hsize_t]
  real(real32) :: field(dims(1), dims(2)), restored(dims(1), dims(2))
  integer(hid_t) :: file, space, list, set
  integer(hsize_t) :: stored
  integer :: i, j, words(4), failed

  do j = 1, int(dims(2))
    do i = 1, int(dims(1))
      field(i, j) = real(280 + 10 * sin(j / 30.0) * cos(i / 50.0), real32)
    end do
  end do

  call h5open_f(failed)
  call h5fcreate_f("field_f90.h5", H5F_ACC_TRUNC_F, file, failed)
  call h5screate_simple_f(2, dims, space, failed)
  call h5pcreate_f(H5P_DATASET_CREATE_F, list, failed)
  call h5pset_chunk_f(list, 2, chunk, failed)
  ! The mode, the two words of the bound, which lie in memory in this order, and the preset.
  words = [mode_abs, transfer(bound, [0, 0]), preset_fast]
  call h5pset_filter_f(list, fzgm, mandatory, 4_size_t, words, failed)
  call h5dcreate_f(file, "field", H5T_IEEE_F32LE, space, set, failed, list)
  if (failed /= 0) error stop "no plugin, or a bound that does not fit"
  call h5dwrite_f(set, H5T_NATIVE_REAL, field, dims, failed)
  if (failed /= 0) error stop "the field cannot be written"
  call h5dget_storage_size_f(set, stored, failed)
  call h5dclose_f(set, failed)
  call h5pclose_f(list, failed)
  call h5sclose_f(space, failed)
  call h5fclose_f(file, failed)

  call h5fopen_f("field_f90.h5", H5F_ACC_RDONLY_F, file, failed)
  call h5dopen_f(file, "field", set, failed)
  call h5dread_f(set, H5T_NATIVE_REAL, restored, dims, failed)
  if (failed /= 0) error stop "the field cannot be read"
  call h5dclose_f(set, failed)
  call h5fclose_f(file, failed)
  call h5close_f(failed)
  print '(a, f0.1, a, es9.2)', "field_f90.h5: ", 4.0 * size(field) / real(stored), &
    " times smaller, largest error ", maxval(abs(field - restored))
  if (maxval(abs(field - restored)) > bound) error stop "the bound does not hold"
end program hdf5_with_fzgm
